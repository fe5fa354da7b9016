import type { FilePart, ToolResultPart } from "../../core/message.ts";
import { type ContentPart, foreignBlock, isForeignBlock, standInFor, textOfContents } from "../shared/message.ts";
import { type Fields, isName, isObject, keep, nested, ownOf } from "../shared/own.ts";

/** The media type of a file at a URL whose type is unknown. */
const UNKNOWN_TYPE = "application/octet-stream";

/** Converts a `tool-result`. Returns undefined for any other part. */
export function resultOfPart(part: unknown): ToolResultPart | undefined {
  if (!isObject(part) || part.type !== "tool-result" || !isName(part.toolCallId) || !isName(part.toolName))
    return undefined;
  const { type, toolCallId, toolName, output, ...fields } = part as Fields & { toolCallId: string; toolName: string };
  const read = readOutput(output);
  if (read === undefined) return undefined;
  const { fields: inner, form, ...said } = read;
  return {
    type: "tool_result",
    toolCallId,
    name: toolName,
    ...said,
    ...keep("aiSdk", { ...fields, ...nested("output", inner) }, form),
  };
}

interface Output {
  content: string | ContentPart[];
  isError?: boolean;
  fields: Fields;
  form: Fields;
}

function readOutput(output: unknown): Output | undefined {
  if (!isObject(output)) return undefined;
  const { type, value, ...fields } = output;
  const form = {};
  switch (type) {
    case "text":
      return typeof value === "string" ? { content: value, fields, form } : undefined;
    case "error-text":
      return typeof value === "string" ? { content: value, isError: true, fields, form } : undefined;
    case "json":
      return { content: [{ type: "data", data: value }], fields, form };
    case "error-json":
      return { content: [{ type: "data", data: value }], isError: true, fields, form };
    case "content":
      return Array.isArray(value) ? { content: value.map(contentOfItem), fields, form } : undefined;
    case "execution-denied": {
      const { reason, ...others } = fields;
      const content = typeof reason === "string" ? reason : "";
      return { content, isError: true, fields: content === "" ? fields : others, form: { as: type } };
    }
    default:
      return undefined;
  }
}

function contentOfItem(item: unknown): ContentPart {
  if (!isObject(item)) return foreignBlock("aiSdk", item);
  const { type, ...rest } = item;
  if (type === "text" && typeof rest.text === "string") {
    const { text, ...fields } = rest as { text: string };
    return { type, text, ...keep("aiSdk", fields) };
  }
  return fileOfItem(item) ?? foreignBlock("aiSdk", item);
}

function fileOfItem({ type, data, url, mediaType, filename, ...fields }: Fields): FilePart | undefined {
  const isNamed = filename === undefined || typeof filename === "string";
  if (!isNamed || (mediaType !== undefined && !isName(mediaType))) return undefined;
  const named = filename === undefined ? {} : { name: filename };
  let file: FilePart | undefined;
  if (
    (type === "file-data" || type === "image-data" || type === "media") &&
    typeof data === "string" &&
    url === undefined
  ) {
    if (mediaType !== undefined) file = { type: "file", mediaType, ...named, data };
  }
  if ((type === "file-url" || type === "image-url") && typeof url === "string" && data === undefined) {
    file = { type: "file", mediaType: mediaType ?? (type === "image-url" ? "image/*" : UNKNOWN_TYPE), ...named, url };
  }
  if (file === undefined) return undefined;
  const form = {
    as: itemTypeOf(file) === type ? undefined : type,
    mediaType: mediaType === undefined ? "absent" : undefined,
  };
  return { ...file, ...keep("aiSdk", fields, form) };
}

function itemTypeOf({ mediaType, data }: FilePart): string {
  return `${mediaType.startsWith("image/") ? "image" : "file"}-${data === undefined ? "url" : "data"}`;
}

export function partOfResult(part: ToolResultPart, toolName: string): Fields {
  const { fields, form } = ownOf(part, "aiSdk");
  const { output: inner, ...others } = fields;
  const output = { ...(isObject(inner) ? inner : {}), ...outputOf(part, form) };
  return { ...others, type: "tool-result", toolCallId: part.toolCallId, toolName, output };
}

function outputOf({ content, isError }: ToolResultPart, form: Fields): Fields {
  const prefix = isError === true ? "error-" : "";
  if (typeof content === "string") {
    if (form.as === "execution-denied") return { type: form.as, ...(content !== "" && { reason: content }) };
    return { type: `${prefix}text`, value: content };
  }
  const [only] = content;
  const isData = content.length === 1 && only!.type === "data" && !isForeignBlock(only!, "aiSdk");
  if (isData) return { type: `${prefix}json`, value: only!.data };
  if (isError !== true) return { type: "content", value: content.map(itemOf) };
  // The SDK's error outputs cannot hold a list of contents.
  return { type: "error-text", value: textOfContents(content) };
}

function itemOf(part: ContentPart): unknown {
  if (isForeignBlock(part, "aiSdk")) return part.data;
  const { fields, form } = ownOf(part, "aiSdk");
  if (part.type === "text") return { ...fields, type: "text", text: part.text };
  if (part.type === "data" || (part.data ?? part.url) === undefined) return { type: "text", text: standInFor(part) };
  const { mediaType, data, url, name } = part;
  const type = form.as ?? itemTypeOf(part);
  // The SDK has no media type for an image at a URL.
  const isTold = form.mediaType !== "absent" && type !== "image-url";
  return {
    ...fields,
    type,
    ...(data === undefined ? { url } : { data }),
    ...(isTold && { mediaType }),
    ...(name !== undefined && type === "file-data" && { filename: name }),
  };
}
