import type { FilePart, ToolResultPart } from "../../core/message.ts";
import {
  type ContentPart,
  hasContent,
  isUnknownBlock,
  readBlock,
  standInFor,
  textOfContents,
  textReader,
} from "../shared/message.ts";
import { asObject, defined, type Fields, isName, isObject, keep, nested, ownOf } from "../shared/own.ts";

const UNKNOWN_TYPE = "application/octet-stream";

const ITEM_READERS = [textReader("aiSdk"), readItemFile];

export function readResult({ type, toolCallId, toolName, output, ...fields }: Fields): ToolResultPart | undefined {
  if (type !== "tool-result" || !isName(toolCallId) || !isName(toolName)) return undefined;
  const read = isObject(output) ? readOutput(output) : undefined;
  if (read === undefined) return undefined;
  const { content, isError, inner, as } = read;
  const result = defined<ToolResultPart>({ type: "tool_result", toolCallId, name: toolName, content, isError });
  return { ...result, ...keep("aiSdk", { ...fields, ...nested("output", inner) }, { as }) };
}

interface Output {
  content: string | ContentPart[];
  isError?: true | undefined;
  /** Other fields of the output. */
  inner: Fields;
  /** The output's type, if the other properties do not imply it. */
  as?: string;
}

function readOutput({ type, value, ...inner }: Fields): Output | undefined {
  const isError = type === "error-text" || type === "error-json" ? true : undefined;
  switch (type) {
    case "text":
    case "error-text":
      return typeof value === "string" ? { content: value, isError, inner } : undefined;
    case "json":
    case "error-json":
      return { content: [{ type: "data", data: value }], isError, inner };
    case "content":
      if (!Array.isArray(value)) return undefined;
      return { content: value.map((item) => readBlock<ContentPart>("aiSdk", item, ITEM_READERS)), inner };
    case "execution-denied": {
      const { reason } = inner;
      if (!isName(reason)) return { content: "", isError: true, inner, as: type };
      return { content: reason, isError: true, inner: { ...inner, reason: undefined }, as: type };
    }
    default:
      return undefined;
  }
}

function readItemFile({ type, data, url, mediaType, filename: name, ...fields }: Fields): FilePart | undefined {
  if (name !== undefined && typeof name !== "string") return undefined;
  if (mediaType !== undefined && !isName(mediaType)) return undefined;
  let file: FilePart;
  if (type === "file-data" || type === "image-data" || type === "media") {
    if (typeof data !== "string" || url !== undefined || mediaType === undefined) return undefined;
    file = defined({ type: "file", mediaType, name, data });
  } else if (type === "file-url" || type === "image-url") {
    if (typeof url !== "string" || data !== undefined) return undefined;
    file = defined({
      type: "file",
      mediaType: mediaType ?? (type === "image-url" ? "image/*" : UNKNOWN_TYPE),
      name,
      url,
    });
  } else return undefined;
  const as = itemTypeOf(file) === type ? undefined : type;
  return { ...file, ...keep("aiSdk", fields, { as, mediaType: mediaType === undefined ? "absent" : undefined }) };
}

function itemTypeOf({ mediaType, data }: FilePart): string {
  return `${mediaType.startsWith("image/") ? "image" : "file"}-${data === undefined ? "url" : "data"}`;
}

export function partOfResult(part: ToolResultPart, toolName: string): Fields {
  const { fields, form } = ownOf(part, "aiSdk");
  const { output: inner, ...others } = fields;
  const output = { ...asObject(inner), ...outputOf(part, form) };
  return { ...others, type: "tool-result", toolCallId: part.toolCallId, toolName, output };
}

function outputOf({ content, isError }: ToolResultPart, form: Fields): Fields {
  const prefix = isError === true ? "error-" : "";
  if (typeof content === "string") {
    if (form.as === "execution-denied") return { type: form.as, ...(content !== "" && { reason: content }) };
    return { type: `${prefix}text`, value: content };
  }
  const [only] = content;
  const isData = content.length === 1 && only!.type === "data" && !isUnknownBlock(only!, "aiSdk");
  if (isData) return { type: `${prefix}json`, value: only!.data };
  if (isError !== true) return { type: "content", value: content.map(itemOf) };
  // The SDK's error outputs cannot hold a list of contents.
  return { type: "error-text", value: textOfContents(content) };
}

function itemOf(part: ContentPart): unknown {
  if (isUnknownBlock(part, "aiSdk")) return part.data;
  const { fields, form } = ownOf(part, "aiSdk");
  if (part.type === "text") return { ...fields, type: "text", text: part.text };
  if (part.type === "data" || !hasContent(part)) return { type: "text", text: standInFor(part) };
  const { mediaType, data, url, name } = part;
  const type = form.as ?? itemTypeOf(part);
  // The SDK has no media type for an image at a URL.
  const hasType = form.mediaType !== "absent" && type !== "image-url";
  return defined({
    ...fields,
    type,
    ...(data === undefined ? { url } : { data }),
    mediaType: hasType ? mediaType : undefined,
    filename: type === "file-data" ? name : undefined,
  });
}
