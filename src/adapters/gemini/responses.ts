import type { FilePart, ToolResultPart } from "../../core/message.ts";
import { type ContentPart, textOfContents } from "../shared/message.ts";
import { type Fields, isName, isObject, keep, nested, ownOf } from "../shared/own.ts";
import { fileOfPart, kindOf, partOfFile, toolName } from "./parts.ts";

/** The media types of files that Gemini takes in a function response. */
const FILE_TYPES = ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];

/**
 * Converts a function response. Returns undefined for any other part.
 *
 * @param idFor  Returns the id of the call that a response without an id answers, given the function's name.
 */
export function resultOfPart(part: unknown, idFor: (name: string) => string): ToolResultPart | undefined {
  if (kindOf(part) !== "functionResponse") return undefined;
  const { functionResponse, ...fields } = part as Fields;
  if (!isObject(functionResponse) || !isName(functionResponse.name)) return undefined;
  const { id, name, response, parts, ...inner } = functionResponse as Fields & { name: string };
  if ((id !== undefined && !isName(id)) || (response !== undefined && !isObject(response))) return undefined;
  const files = filesIn(parts);
  if (files === undefined && parts !== undefined) inner.parts = parts;
  const { content, isError } = responseContent(response);
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
 * Adds a file that follows a response to its result. Clients send files so to models that take none inside a response.
 *
 * @returns undefined if the part is not a file.
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

/** Returns true for a response that returned files only. */
function isEmpty(response: Fields | undefined): boolean {
  return response !== undefined && Object.keys(response).length === 0;
}

/** Returns the files in a list of parts, or undefined if any part is of another kind. Such parts are kept unchanged. */
function filesIn(parts: unknown): FilePart[] | undefined {
  if (!Array.isArray(parts) || parts.length === 0) return undefined;
  const files = parts.map((part) => {
    const kind = isObject(part) && "inlineData" in part ? "inlineData" : "fileData";
    return isObject(part) ? fileOfPart(part, kind) : undefined;
  });
  return files.every((file) => file !== undefined) ? files : undefined;
}

/** Reads the keys `output` and `error`, which Gemini documents. A response with other keys becomes data. */
function responseContent(response: Fields | undefined): { content: string | ContentPart[]; isError: boolean } {
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
 * Returns the response, and the files that follow it.
 *
 * @param name  The function's name.
 * @param hasId  True if the call has an id in Gemini's format.
 */
export function partsOfResult(part: ToolResultPart, name: string, hasId: boolean): [Fields, ...Fields[]] {
  const { fields, form } = ownOf(part, "gemini");
  const content = listOf(part.content);
  const files = content.filter((item): item is FilePart => item.type === "file" && isTaken(item));
  const said = content.filter((item) => !files.includes(item as FilePart));
  const isError = part.isError === true;
  const inside = files.filter((file) => !isBehind(file));
  const isOnlyFiles = said.length === 0 && inside.length > 0;
  // An error needs a text.
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
  const text = textOfContents(said);
  return isError ? { error: text } : { output: text };
}
