import type { FilePart, ToolResultPart } from "../../core/message.ts";
import { type ContentPart, textOfContents } from "../shared/message.ts";
import { asObject, defined, type Fields, isName, isObject, keep, nested, ownOf } from "../shared/own.ts";
import { kindOf, partOfFile, readFile, toolName } from "./parts.ts";

/** The media types of files that Gemini accepts in a function response. */
const FILE_TYPES = ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];

/** @param idFor  Finds the id of the call that a response without an id answers, by the function's name. */
export function readResult(part: Fields, idFor: (name: string) => string): ToolResultPart | undefined {
  const { functionResponse, ...fields } = part;
  const { id, name, response, parts, ...inner } = asObject(functionResponse);
  if (kindOf(part) !== "functionResponse" || !isName(name)) return undefined;
  if ((id !== undefined && !isName(id)) || (response !== undefined && !isObject(response))) return undefined;
  const files = filesIn(parts);
  if (files === undefined) inner.parts = parts;
  const { content, isError } = responseContent(response);
  const isEmpty = response !== undefined && Object.keys(response).length === 0;
  // Other providers refuse a text without words beside files.
  const isBlank = files !== undefined && response !== undefined && content === "" && isError === undefined;
  const form = {
    id: id === undefined ? "absent" : undefined,
    response: response === undefined ? "absent" : isBlank ? "blank" : undefined,
  };
  const result: ToolResultPart = {
    type: "tool_result",
    toolCallId: id ?? idFor(name),
    name,
    content: files === undefined ? content : [...(isEmpty || isBlank ? [] : listOf(content)), ...files],
    isError,
  };
  return { ...defined(result), ...keep("gemini", { ...fields, ...nested("functionResponse", inner) }, form) };
}

/** Adds a file that follows a response in its content. Clients send it there for models that refuse files inside a response. */
export function withFileAfter(result: ToolResultPart, file: FilePart): ToolResultPart {
  const { fields, form } = ownOf(file, "gemini");
  const added = { ...file, ...keep("gemini", fields, { ...form, behind: true }) };
  const contents = result.content === "" ? [] : listOf(result.content);
  return { ...result, content: [...contents, added] };
}

/** Returns undefined if any part is not a file. */
function filesIn(parts: unknown): FilePart[] | undefined {
  if (!Array.isArray(parts) || parts.length === 0) return undefined;
  const files = parts.map((part) => readFile(asObject(part)));
  return files.every((file) => file !== undefined) ? files : undefined;
}

/** Gemini documents the keys `output` and `error`. A response with other keys becomes data. */
function responseContent(response: Fields | undefined): { content: string | ContentPart[]; isError?: true } {
  if (response === undefined) return { content: "" };
  const [only, ...others] = Object.keys(response);
  const isError = only === "error" && others.length === 0;
  const value = isError || (only === "output" && others.length === 0) ? response[only] : response;
  const content = typeof value === "string" ? value : [{ type: "data" as const, data: isError ? value : response }];
  return isError ? { content, isError } : { content };
}

function listOf(content: string | ContentPart[]): ContentPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Returns the response, and the files that follow it. @param hasId  True if the call has an id in Gemini's format. */
export function partsOfResult(part: ToolResultPart, name: string, hasId: boolean): [Fields, ...Fields[]] {
  const { fields, form } = ownOf(part, "gemini");
  const content = listOf(part.content);
  const files = content.filter((item) => item.type === "file").filter(isAccepted);
  const others = content.filter((item) => !files.includes(item as FilePart));
  const isError = part.isError === true;
  const inside = files.filter((file) => !isAfter(file));
  const isOnlyFiles = others.length === 0 && inside.length > 0;
  // An error needs a text even if it has only files.
  const none = form.response === "blank" ? { output: "" } : {};
  const response = isOnlyFiles && !isError ? none : responseOf(isOnlyFiles ? inside : others, isError);
  const isAbsent = form.response === "absent" && response.output === "";
  const functionResponse = {
    ...asObject(fields.functionResponse),
    ...(hasId && form.id !== "absent" && { id: part.toolCallId }),
    name: toolName(name),
    ...(!isAbsent && { response }),
    ...(inside.length > 0 && { parts: inside.map(partOfFile) }),
  };
  return [{ ...fields, functionResponse }, ...files.filter(isAfter).map(partOfFile)];
}

function isAfter(file: FilePart): boolean {
  return ownOf(file, "gemini").form.behind === true;
}

function isAccepted(part: FilePart): boolean {
  return "gemini" in part || (part.data !== undefined && FILE_TYPES.includes(part.mediaType));
}

function responseOf(contents: readonly ContentPart[], isError: boolean): Fields {
  const [only] = contents;
  if (contents.length === 1 && only!.type === "data") {
    if (isError) return { error: only!.data };
    return isObject(only!.data) ? only!.data : { output: only!.data };
  }
  const text = textOfContents(contents);
  return isError ? { error: text } : { output: text };
}
