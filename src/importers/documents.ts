import { headObjects } from "./detect.ts";
import { DocumentScanner, type Element } from "./document-scanner.ts";
import { peek } from "./head.ts";
import type { ImportFile } from "./importer.ts";
import { type DamagedLine, isObject, type JsonObject, readJsonLines, refuseBinary } from "./lines.ts";

/** Bytes that are looked at to see if each line is a document, or the whole file is one. */
const HEAD_BYTES = 1024 * 1024;

/** Elements that detection looks at. */
const HEAD_ELEMENTS = 50;

/**
 * Returns the elements of a JSON file: one document over many lines, or a document on each line. A line without a list in it is
 * an element, as if all such lines were the items of one list. Memory is that of the longest line or element.
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
    else if (!hasList(found.value)) yield { line: found.line, document: 0, key: undefined, value: found.value };
    else yield* elementsOf(found.value, found.line, found.line - 1);
  }
}

/** Returns the elements of one JSON document in any layout. */
export async function* readDocument(file: ImportFile): AsyncGenerator<Element | DamagedLine> {
  const scanner = new DocumentScanner();
  for await (const chunk of refuseBinary(file)) {
    yield* scanner.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  }
  yield* scanner.end();
}

/** Returns true if a file has an object on each line, and the file as if its head had not been read. */
export async function shapeOf(file: ImportFile): Promise<{ isLines: boolean; file: ImportFile }> {
  const { head, chunks } = await peek(file.chunks, HEAD_BYTES);
  return { isLines: isLines(head.toString("utf8")), file: { path: file.path, chunks } };
}

/** Returns the elements in the head of a file in either layout. */
export function* headElements(head: string): Generator<Element> {
  let count = 0;
  for (const element of isLines(head) ? lineElements(head) : documentElements(head)) {
    if ("problem" in element) continue;
    yield element;
    if (++count === HEAD_ELEMENTS) return;
  }
}

function* lineElements(head: string): Generator<Element> {
  let line = 0;
  for (const value of headObjects(head)) {
    line++;
    if (hasList(value)) yield* elementsOf(value, line, 0);
    else yield { line, document: 0, key: undefined, value };
  }
}

function* documentElements(head: string): Generator<Element | DamagedLine> {
  yield* new DocumentScanner().push(Buffer.from(head));
}

/** Returns true if half of the complete lines are objects. In one document, at most its last item has that form. */
function isLines(head: string): boolean {
  const lines = head
    .replace(/^\uFEFF/, "")
    .split("\n", 101)
    .filter((line) => line.trim() !== "");
  if (lines.length === 0 || !lines[0]!.trimStart().startsWith("{")) return false;
  const objectCount = lines.filter(isObjectLine).length;
  return objectCount > 0 && objectCount * 2 >= lines.length - 1;
}

function isObjectLine(line: string): boolean {
  if (!line.trimStart().startsWith("{")) return false;
  try {
    return isObject(JSON.parse(line));
  } catch {
    return false;
  }
}

/** Returns true for an object that is a document: it has a list, and no role of its own. */
function hasList(value: JsonObject): boolean {
  return value.role === undefined && Object.values(value).some(Array.isArray);
}

function* elementsOf(object: JsonObject, line: number, document: number): Generator<Element> {
  for (const [key, value] of Object.entries(object)) {
    if (Array.isArray(value)) for (const item of value) yield { line, document, key, value: item };
    else yield { line, document, key, value };
  }
}
