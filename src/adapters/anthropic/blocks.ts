import type { FilePart, Part, ReasoningPart, ToolCallPart, ToolResultPart } from "../../core/message.ts";
import { legalId } from "../shared/legal-id.ts";
import {
  argsObject,
  type ContentPart,
  foreignBlock,
  isContent,
  isForeignBlock,
  standInFor,
} from "../shared/message.ts";
import { type Fields, isName, isObject, keep, nested, ownOf } from "../shared/own.ts";

/** Characters that Anthropic refuses in ids and names. */
const ILLEGAL = /[^a-zA-Z0-9_-]/g;
const ID_CHARS_MAX = 64;
const NAME_CHARS_MAX = 128;

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/** The media type of an image at a URL, whose kind is unknown. */
const SOME_IMAGE = "image/*";
const PDF = "application/pdf";

/** Converts a block of a user message or a result. Kinds that we do not know are kept whole in a `data` part. */
export function contentOfBlock(block: unknown): ContentPart {
  if (!isObject(block)) return foreignBlock("anthropic", block);
  if (block.type === "text" && typeof block.text === "string") {
    const { type: _, text, ...fields } = block as Fields & { text: string };
    return { type: "text", text, ...keep("anthropic", fields) };
  }
  return fileOfBlock(block) ?? foreignBlock("anthropic", block);
}

function fileOfBlock({ type, source, ...fields }: Fields): FilePart | undefined {
  if ((type !== "image" && type !== "document") || !isObject(source)) return undefined;
  const { type: kind, ...rest } = source;
  let name: string | undefined;
  if (type === "document" && isName(fields.title)) {
    name = fields.title;
    delete fields.title;
  }
  const named = name === undefined ? {} : { name };
  if (kind === "base64" && isName(rest.media_type) && typeof rest.data === "string") {
    const { media_type: mediaType, data, ...inner } = rest as { media_type: string; data: string };
    return marked({ type: "file", mediaType, ...named, data }, type, { ...fields, ...nested("source", inner) });
  }
  if (kind === "url" && typeof rest.url === "string") {
    const { url, ...inner } = rest as { url: string };
    const mediaType = type === "image" ? SOME_IMAGE : PDF;
    return marked({ type: "file", mediaType, ...named, url }, type, { ...fields, ...nested("source", inner) });
  }
  return undefined;
}

function marked(file: FilePart, as: string, fields: Fields): FilePart {
  return { ...file, ...keep("anthropic", fields, { as: usualBlock(file) === as ? undefined : as }) };
}

/** Returns the type of block that holds a file, or undefined if Anthropic has none for it. */
function usualBlock({ mediaType, data, url }: FilePart): string | undefined {
  if (data === undefined && url === undefined) return undefined;
  if (mediaType === PDF) return "document";
  const isImage = data === undefined ? mediaType.startsWith("image/") : IMAGE_TYPES.includes(mediaType);
  return isImage ? "image" : undefined;
}

/** @param takesFiles  False if images and documents are not allowed there; they become text then. */
export function blockOfContent(part: ContentPart, takesFiles: boolean): unknown {
  if (isForeignBlock(part, "anthropic")) return part.data;
  if (part.type === "text") return { ...ownOf(part, "anthropic").fields, type: "text", text: part.text };
  const block = part.type === "file" && takesFiles ? blockOfFile(part) : undefined;
  return block ?? { type: "text", text: standInFor(part) };
}

function blockOfFile(part: FilePart): Fields | undefined {
  const { fields, form } = ownOf(part, "anthropic");
  const { mediaType, data, url, name } = part;
  const type = form.as ?? usualBlock(part);
  if (type === undefined) return undefined;
  const inner = isObject(fields.source) ? fields.source : {};
  const source =
    data === undefined ? { ...inner, type: "url", url } : { ...inner, type: "base64", media_type: mediaType, data };
  return { ...fields, type, source, ...(type === "document" && name !== undefined && { title: name }) };
}

/** Converts a block of an assistant message. */
export function partOfBlock(block: unknown): Part {
  if (!isObject(block)) return foreignBlock("anthropic", block);
  const { type, ...rest } = block;
  if (type === "thinking" && typeof rest.thinking === "string") {
    const { thinking, ...fields } = rest as { thinking: string };
    return { type: "reasoning", text: thinking, ...keep("anthropic", fields) };
  }
  // The thought is encrypted. Anthropic needs it back as it was.
  if (type === "redacted_thinking") return { type: "reasoning", text: "", ...keep("anthropic", rest, { as: type }) };
  if (type === "tool_use" && isName(rest.id) && isName(rest.name)) {
    const { id, name, input = {}, ...fields } = rest as Fields & { id: string; name: string };
    return { type: "tool_call", toolCallId: id, name, args: input, ...keep("anthropic", fields) };
  }
  return contentOfBlock(block);
}

/** Converts a part of an assistant message. Returns undefined for reasoning that Anthropic has not signed. */
export function blockOfPart(part: Part): unknown {
  if (isContent(part)) return blockOfContent(part, ownOf(part, "anthropic").form.as !== undefined);
  if (part.type === "reasoning") return blockOfThought(part);
  if (part.type === "tool_call") return blockOfCall(part);
  return undefined;
}

/** Treats an empty signature as none: proxies for other models write them, and Anthropic refuses them. */
function blockOfThought(part: ReasoningPart): Fields | undefined {
  const { fields, form } = ownOf(part, "anthropic");
  if (form.as === "redacted_thinking") return { ...fields, type: "redacted_thinking" };
  return isName(fields.signature) ? { ...fields, type: "thinking", thinking: part.text } : undefined;
}

function blockOfCall(part: ToolCallPart): Fields {
  const name = legalId(part.name, ILLEGAL, NAME_CHARS_MAX);
  const { fields } = ownOf(part, "anthropic");
  return {
    ...fields,
    type: "tool_use",
    id: legalId(part.toolCallId, ILLEGAL, ID_CHARS_MAX),
    name,
    input: argsObject(part.args),
  };
}

/** Converts a `tool_result` block. Returns undefined for any other block. */
export function resultOfBlock(block: unknown): ToolResultPart | undefined {
  if (!isObject(block) || block.type !== "tool_result" || !isName(block.tool_use_id)) return undefined;
  const { type, tool_use_id, content, is_error, ...fields } = block as Fields & { tool_use_id: string };
  // Anthropic never sends content that is neither a string nor a list. It becomes the only item of a list.
  const isBare = content !== undefined && typeof content !== "string" && !Array.isArray(content);
  const said = isBare ? [content] : (content ?? "");
  if (is_error !== undefined && typeof is_error !== "boolean") fields.is_error = is_error;
  return {
    type: "tool_result",
    toolCallId: tool_use_id,
    content: typeof said === "string" ? said : said.map(contentOfBlock),
    ...(typeof is_error === "boolean" && { isError: is_error }),
    ...keep("anthropic", fields, { content: content === undefined ? "absent" : isBare ? "bare" : undefined }),
  };
}

export function blockOfResult(part: ToolResultPart): Fields {
  const { fields, form } = ownOf(part, "anthropic");
  const said = typeof part.content === "string" ? part.content : part.content.map((item) => blockOfContent(item, true));
  const content = form.content === "bare" && said.length === 1 ? said[0] : said;
  return {
    ...fields,
    type: "tool_result",
    tool_use_id: legalId(part.toolCallId, ILLEGAL, ID_CHARS_MAX),
    ...(content === "" && form.content === "absent" ? {} : { content }),
    ...(part.isError !== undefined && { is_error: part.isError }),
  };
}
