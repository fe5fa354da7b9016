import { DocumentScanner, type Element } from "./document-scanner.ts";
import { madeOfHead, peek } from "./head.ts";
import type { ImportFile } from "./importer.ts";
import {
  type DamagedLine,
  HEAD_LINES,
  headObjects,
  type JsonObject,
  LINE_VALUES_MAX,
  readJsonLines,
  refuseBinary,
} from "./lines.ts";

/** Bytes in which `isLines` looks for objects. */
const HEAD_BYTES = 1024 * 1024;

const HEAD_ELEMENTS = 50;

/**
 * Returns the elements of a JSON file, which is one document or has a document on each line. A line without a list in it, such as
 * `{"role":"user","content":"Hi"}`, is one element. Only one line or element is in memory.
 *
 * @throws {StoreError} `IMPORT_UNREADABLE` for a binary file, and whatever `file.chunks` throws.
 */
export async function* readElements(file: ImportFile): AsyncGenerator<Element | DamagedLine> {
  const shaped = await shapeOf(file);
  if (!shaped.isLines) {
    yield* readDocument(shaped.file);
    return;
  }
  for await (const found of readJsonLines(shaped.file)) {
    if ("isPause" in found) continue;
    if ("problem" in found) yield found;
    else yield* elementsOf(found.value, found.line, found.line - 1 + (found.index ?? 0) / LINE_VALUES_MAX);
  }
}

export async function* readDocument(file: ImportFile): AsyncGenerator<Element | DamagedLine> {
  const scanner = new DocumentScanner();
  for await (const chunk of refuseBinary(file)) {
    yield* scanner.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  }
  yield* scanner.end();
}

/**
 * Returns the objects of a JSON file as elements without a key: the items of its list, its lines, or the document itself.
 *
 * @param lists  Fields of such an object that are lists.
 */
export async function* readObjects(file: ImportFile, lists: readonly string[]): AsyncGenerator<Element | DamagedLine> {
  let whole: (Element & { value: JsonObject }) | undefined;
  for await (const element of readElements(file)) {
    const isField = !("problem" in element) && element.key !== undefined;
    if (whole !== undefined && !("problem" in element) && (!isField || element.document !== whole.document)) {
      yield whole;
      whole = undefined;
    }
    if (!isField) {
      yield element;
      continue;
    }
    const { line, document, key, value } = element as Element & { key: string };
    whole ??= { line, document, key: undefined, value: {} };
    const fields = whole.value;
    const known = fields[key];
    if (!lists.includes(key)) fields[key] = value;
    else if (Array.isArray(known)) known.push(value);
    else fields[key] = [value];
  }
  if (whole !== undefined) yield whole;
}

/** Returns the fields of a document before the items of its lists, because a program may write them last. */
export async function* fieldsFirst(
  elements: AsyncIterable<Element | DamagedLine>,
  list: string,
): AsyncGenerator<Element | DamagedLine> {
  const items: (Element | DamagedLine)[] = [];
  for await (const element of elements) {
    if ("problem" in element || element.key === undefined || element.key === list) items.push(element);
    else yield element;
  }
  yield* items;
}

/** Detects a file with an object on each line. The returned file still has all its bytes. */
export async function shapeOf(file: ImportFile): Promise<{ isLines: boolean; file: ImportFile }> {
  const { head, chunks } = await peek(file.chunks, HEAD_BYTES);
  return { isLines: isLines(head.toString("utf8")), file: { path: file.path, chunks } };
}

/** Returns the first elements in the head of a file, in lines or in one document. */
export function headElements(head: string): Element[] {
  return madeOfHead(head, elementsIn);
}

function elementsIn(head: string): Element[] {
  const elements: Element[] = [];
  for (const element of isLines(head) ? lineElements(head) : new DocumentScanner().push(Buffer.from(head))) {
    if ("problem" in element) continue;
    if (elements.push(element) === HEAD_ELEMENTS) break;
  }
  return elements;
}

function* lineElements(head: string): Generator<Element> {
  for (const value of headObjects(head)) yield* elementsOf(value, 0, 0);
}

/** Returns true if half of the complete lines are objects. Only one line of a single document can be an object: its last item. */
function isLines(head: string): boolean {
  const text = head.replace(/^\uFEFF/, "");
  const lines = text.split("\n", HEAD_LINES).filter((line) => line.trim() !== "");
  if (!lines[0]?.trimStart().startsWith("{")) return false;
  const objectCount = headObjects(text).length;
  return objectCount > 0 && objectCount * 2 >= lines.length - 1;
}

/** Returns true for a document with a list of messages. A message itself has a role, a type or a kind. */
function hasList(value: JsonObject): boolean {
  return (value.role ?? value.type ?? value.kind) === undefined && Object.values(value).some(Array.isArray);
}

function* elementsOf(object: JsonObject, line: number, document: number): Generator<Element> {
  if (!hasList(object)) {
    yield { line, document: 0, key: undefined, value: object };
    return;
  }
  for (const [key, value] of Object.entries(object)) {
    if (Array.isArray(value)) for (const item of value) yield { line, document, key, value: item };
    else yield { line, document, key, value };
  }
}
