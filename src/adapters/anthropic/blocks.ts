import type { FilePart, Part, ReasoningPart, ToolCallPart, ToolResultPart } from "../../core/message.ts";
import { legalId } from "../shared/legal-id.ts";
import {
  argsObject,
  type ContentPart,
  hasContent,
  isContent,
  isUnknownBlock,
  readBlock,
  standInFor,
  textReader,
} from "../shared/message.ts";
import { asObject, defined, type Fields, isName, keep, nested, ownOf } from "../shared/own.ts";

const ILLEGAL = /[^a-zA-Z0-9_-]/g;
const ID_CHARS_MAX = 64;
const NAME_CHARS_MAX = 128;

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const SOME_IMAGE = "image/*";
const PDF = "application/pdf";

const readText = textReader("anthropic");

/** Converts a block of content. Unknown kinds of block are kept whole in a `data` part. */
export function contentOfBlock(block: unknown): ContentPart {
  return readBlock<ContentPart>("anthropic", block, [readText, readFile]);
}

export function assistantPartOf(block: unknown): Part {
  return readBlock<Part>("anthropic", block, [readThought, readRedactedThought, readCall, readText, readFile]);
}

function readFile({ type, source, ...fields }: Fields): FilePart | undefined {
  if (type !== "image" && type !== "document") return undefined;
  const name = type === "document" && isName(fields.title) ? fields.title : undefined;
  const { type: kind, ...about } = asObject(source);
  const { media_type, data, url } = about;
  let file: FilePart;
  if (kind === "base64" && isName(media_type) && typeof data === "string") {
    file = defined({ type: "file", mediaType: media_type, name, data });
    Object.assign(about, { media_type: undefined, data: undefined });
  } else if (kind === "url" && typeof url === "string") {
    file = defined({ type: "file", mediaType: type === "image" ? SOME_IMAGE : PDF, name, url });
    about.url = undefined;
  } else return undefined;
  if (name !== undefined) fields.title = undefined;
  const as = usualBlock(file) === type ? undefined : type;
  return { ...file, ...keep("anthropic", { ...fields, ...nested("source", about) }, { as }) };
}

/** Returns undefined if Anthropic has no block for such a file. */
function usualBlock(file: FilePart): string | undefined {
  if (!hasContent(file)) return undefined;
  if (file.mediaType === PDF) return "document";
  const isImage = file.data === undefined ? file.mediaType.startsWith("image/") : IMAGE_TYPES.includes(file.mediaType);
  return isImage ? "image" : undefined;
}

function readThought({ type, thinking, ...fields }: Fields): ReasoningPart | undefined {
  if (type !== "thinking" || typeof thinking !== "string") return undefined;
  return { type: "reasoning", text: thinking, ...keep("anthropic", fields) };
}

/** An encrypted thought must be sent back unchanged, so all its fields are kept. */
function readRedactedThought({ type, ...fields }: Fields): ReasoningPart | undefined {
  if (type !== "redacted_thinking") return undefined;
  return { type: "reasoning", text: "", ...keep("anthropic", fields, { as: type }) };
}

function readCall({ type, id, name, input = {}, ...fields }: Fields): ToolCallPart | undefined {
  if (type !== "tool_use" || !isName(id) || !isName(name)) return undefined;
  return { type: "tool_call", toolCallId: id, name, args: input, ...keep("anthropic", fields) };
}

export function userPartOf(block: unknown): Part {
  return readBlock<Part>("anthropic", block, [readResult, readText, readFile]);
}

function readResult({ type, tool_use_id, content, is_error, ...fields }: Fields): ToolResultPart | undefined {
  if (type !== "tool_result" || !isName(tool_use_id)) return undefined;
  // Anthropic's content is a string or a list. Anything else, from another program, becomes the only item of a list.
  const isBare = content !== undefined && typeof content !== "string" && !Array.isArray(content);
  const given = isBare ? [content] : (content ?? "");
  const isError = typeof is_error === "boolean" ? is_error : undefined;
  if (isError === undefined) fields.is_error = is_error;
  const form = { content: content === undefined ? "absent" : isBare ? "bare" : undefined };
  const result: ToolResultPart = {
    type: "tool_result",
    toolCallId: tool_use_id,
    content: typeof given === "string" ? given : given.map(contentOfBlock),
    isError,
  };
  return { ...defined(result), ...keep("anthropic", fields, form) };
}

/** @param takesFiles  If false, images and documents become text. */
export function blockOfContent(part: ContentPart, takesFiles: boolean): unknown {
  if (isUnknownBlock(part, "anthropic")) return part.data;
  if (part.type === "text") return { ...ownOf(part, "anthropic").fields, type: "text", text: part.text };
  const block = part.type === "file" && takesFiles ? blockOfFile(part) : undefined;
  return block ?? { type: "text", text: standInFor(part) };
}

function blockOfFile(part: FilePart): Fields | undefined {
  const { fields, form } = ownOf(part, "anthropic");
  const { mediaType, data, url, name } = part;
  const type = form.as ?? usualBlock(part);
  if (type === undefined) return undefined;
  const held = data === undefined ? { type: "url", url } : { type: "base64", media_type: mediaType, data };
  const source = { ...asObject(fields.source), ...held };
  return { ...fields, type, source, ...(type === "document" && name !== undefined && { title: name }) };
}

/** Returns undefined for reasoning that Anthropic has not signed. */
export function blockOfPart(part: Part): unknown {
  const { fields, form } = ownOf(part, "anthropic");
  if (isContent(part)) return blockOfContent(part, form.as !== undefined);
  if (part.type === "tool_call") {
    const id = legalId(part.toolCallId, ILLEGAL, ID_CHARS_MAX);
    const name = legalId(part.name, ILLEGAL, NAME_CHARS_MAX);
    return { ...fields, type: "tool_use", id, name, input: argsObject(part.args) };
  }
  if (part.type !== "reasoning") return undefined;
  if (form.as === "redacted_thinking") return { ...fields, type: form.as };
  // Proxies for other models write empty signatures, and Anthropic refuses them.
  return isName(fields.signature) ? { ...fields, type: "thinking", thinking: part.text } : undefined;
}

export function blockOfResult(part: ToolResultPart): Fields {
  const { fields, form } = ownOf(part, "anthropic");
  const blocks =
    typeof part.content === "string" ? part.content : part.content.map((item) => blockOfContent(item, true));
  const content = form.content === "bare" && blocks.length === 1 ? blocks[0] : blocks;
  return defined({
    ...fields,
    type: "tool_result",
    tool_use_id: legalId(part.toolCallId, ILLEGAL, ID_CHARS_MAX),
    content: content === "" && form.content === "absent" ? undefined : content,
    is_error: part.isError ?? fields.is_error,
  });
}
