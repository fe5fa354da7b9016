import type { FilePart, ToolResultPart } from "../../core/message.ts";
import { type Fields, isName, isObject, keep, nested, ownOf } from "../shared/own.ts";
import { type ContentPart, standInFor } from "../shared/speech.ts";
import { fileOfPart, kindOf, partOfFile, toolName } from "./parts.ts";

/** Files that Gemini takes beside what a function returns. */
const FILE_TYPES = ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];

/**
 * What a function returned; undefined for any other part.
 *
 * @param idFor  The id of the call that a response without one answers, by the function's name.
 */
export function resultOfPart(part: unknown, idFor: (name: string) => string): ToolResultPart | undefined {
  if (kindOf(part) !== "functionResponse") return undefined;
  const { functionResponse, ...fields } = part as Fields;
  if (!isObject(functionResponse) || !isName(functionResponse.name)) return undefined;
  const { id, name, response, parts, ...inner } = functionResponse as Fields & { name: string };
  if ((id !== undefined && !isName(id)) || (response !== undefined && !isObject(response))) return undefined;
  const files = filesIn(parts);
  if (files === undefined && parts !== undefined) inner.parts = parts;
  const { content, isError } = contentOf(response);
  const own = keep(
    "gemini",
    { ...fields, ...nested("functionResponse", inner) },
    { id: id === undefined ? "absent" : undefined, response: response === undefined ? "absent" : undefined },
  );
  return {
    type: "tool_result",
    toolCallId: id ?? idFor(name),
    name,
    content: files === undefined ? content : [...(isEmpty(response) ? [] : listOf(content)), ...files],
    ...(isError && { isError }),
    ...own,
  };
}

/**
 * The result with one more file: models that take none in a response have them stand behind it.
 *
 * @returns undefined where the part is no file.
 */
export function withFileBehind(result: ToolResultPart, part: unknown): ToolResultPart | undefined {
  const kind = kindOf(part);
  const file = kind === "inlineData" || kind === "fileData" ? fileOfPart(part as Fields, kind) : undefined;
  if (file === undefined) return undefined;
  const { fields, form } = ownOf(file, "gemini");
  const behind = { ...file, ...keep("gemini", fields, { ...form, behind: true }) };
  const said = result.content === "" ? [] : listOf(result.content);
  return { ...result, content: [...said, behind] };
}

/** Beside files, nothing else was returned. */
function isEmpty(response: Fields | undefined): boolean {
  return response !== undefined && Object.keys(response).length === 0;
}

/** All of them, or none: there is one place for those that we do not know. */
function filesIn(parts: unknown): FilePart[] | undefined {
  if (!Array.isArray(parts) || parts.length === 0) return undefined;
  const files = parts.map((part) => {
    const kind = isObject(part) && "inlineData" in part ? "inlineData" : "fileData";
    return isObject(part) ? fileOfPart(part, kind) : undefined;
  });
  return files.every((file) => file !== undefined) ? files : undefined;
}

/** `output` and `error` are the keys that Gemini's documentation names; whatever else a function returns is data. */
function contentOf(response: Fields | undefined): { content: string | ContentPart[]; isError: boolean } {
  if (response === undefined) return { content: "", isError: false };
  const [only, ...others] = Object.keys(response);
  if (others.length > 0 || (only !== "error" && only !== "output")) {
    return { content: [{ type: "data", data: response }], isError: false };
  }
  const value = response[only];
  if (typeof value === "string") return { content: value, isError: only === "error" };
  return { content: [{ type: "data", data: only === "error" ? value : response }], isError: only === "error" };
}

function listOf(content: string | ContentPart[]): ContentPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/**
 * The response, and the files that stand behind it.
 *
 * @param name  Of the function. @param hasId  Whether its call has one.
 */
export function partsOfResult(part: ToolResultPart, name: string, hasId: boolean): [Fields, ...Fields[]] {
  const { fields, form } = ownOf(part, "gemini");
  const content = listOf(part.content);
  const files = content.filter((item): item is FilePart => item.type === "file" && isTaken(item));
  const said = content.filter((item) => !files.includes(item as FilePart));
  const isError = part.isError === true;
  const inside = files.filter((file) => !isBehind(file));
  const isOnlyFiles = said.length === 0 && inside.length > 0;
  // An error has to be told in words.
  const response = isOnlyFiles && !isError ? {} : responseOf(isOnlyFiles ? inside : said, isError);
  const isAbsent = form.response === "absent" && response.output === "";
  const functionResponse = {
    ...(isObject(fields.functionResponse) ? fields.functionResponse : {}),
    ...(hasId && form.id !== "absent" && { id: part.toolCallId }),
    name: toolName(name),
    ...(!isAbsent && { response }),
    ...(inside.length > 0 && { parts: inside.map(partOfFile) }),
  };
  return [{ ...fields, functionResponse }, ...files.filter(isBehind).map(partOfFile)];
}

function isBehind(file: FilePart): boolean {
  return ownOf(file, "gemini").form.behind === true;
}

function isTaken(part: FilePart): boolean {
  return "gemini" in part || (part.data !== undefined && FILE_TYPES.includes(part.mediaType));
}

function responseOf(said: readonly ContentPart[], isError: boolean): Fields {
  const [only] = said;
  if (said.length === 1 && only!.type === "data") {
    if (isError) return { error: only!.data };
    return isObject(only!.data) ? only!.data : { output: only!.data };
  }
  const text = said.map((item) => (item.type === "text" ? item.text : standInFor(item))).join("\n");
  return isError ? { error: text } : { output: text };
}
