import type { FilePart } from "../../core/message.ts";
import { dataUrlOf, readDataUrl } from "../shared/data-url.ts";
import { type ContentPart, foreignBlock, isForeignBlock, standInFor } from "../shared/message.ts";
import { type Fields, isObject, keep, nested, ownOf } from "../shared/own.ts";

/** The audio formats that OpenAI takes, by media type. */
const AUDIO_FORMATS: Record<string, string> = {
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/mpeg": "mp3",
  "audio/mp3": "mp3",
};
const AUDIO_TYPES: Record<string, string> = { wav: "audio/wav", mp3: "audio/mpeg" };

/** The media type of an image at a URL, whose kind is unknown. */
const SOME_IMAGE = "image/*";

/** Converts a block of content. Blocks that we do not know are kept whole in a `data` part. */
export function partOfBlock(block: unknown): ContentPart {
  if (!isObject(block)) return foreignBlock("openai", block);
  const { type, ...rest } = block;
  if (type === "text" && typeof rest.text === "string") {
    const { text, ...fields } = rest as { text: string };
    return { type, text, ...keep("openai", fields) };
  }
  if (type === "refusal" && typeof rest.refusal === "string") {
    const { refusal, ...fields } = rest as { refusal: string };
    return { type: "text", text: refusal, ...keep("openai", fields, { as: "refusal_block" }) };
  }
  return fileOfBlock(block) ?? foreignBlock("openai", block);
}

function fileOfBlock({ type, ...rest }: Fields): FilePart | undefined {
  if (type === "image_url" && isObject(rest.image_url) && typeof rest.image_url.url === "string") {
    const { image_url, ...fields } = rest as { image_url: Fields };
    const { url, ...inner } = image_url as { url: string };
    const file = readDataUrl(url) ?? { mediaType: SOME_IMAGE, url };
    return kept(file, type, { ...fields, ...nested(type, inner) });
  }
  if (type === "input_audio" && isObject(rest.input_audio)) {
    const { input_audio, ...fields } = rest as { input_audio: Fields };
    const { data, format, ...inner } = input_audio;
    const mediaType = AUDIO_TYPES[String(format)];
    if (typeof data !== "string" || mediaType === undefined) return undefined;
    return kept({ mediaType, data }, type, { ...fields, ...nested(type, inner) });
  }
  if (type === "file" && isObject(rest.file) && typeof rest.file.file_data === "string") {
    const { file, ...fields } = rest as { file: Fields };
    const { file_data, filename, ...inner } = file as { file_data: string; filename?: unknown };
    const bytes = readDataUrl(file_data);
    if (bytes === undefined || (filename !== undefined && typeof filename !== "string")) return undefined;
    const named = filename === undefined ? bytes : { ...bytes, name: filename };
    return kept(named, type, { ...fields, ...nested(type, inner) });
  }
  return undefined;
}

function kept(file: Omit<FilePart, "type">, as: string, fields: Fields): FilePart {
  const part = { type: "file", ...file } as FilePart;
  return { ...part, ...keep("openai", fields, { as: as === usualBlock(part) ? undefined : as }) };
}

/** Returns the type of block that holds a file, or undefined if OpenAI has none for it. */
function usualBlock({ mediaType, data, url }: FilePart): string | undefined {
  if (mediaType.startsWith("image/") && data === undefined && url !== undefined) return "image_url";
  if (data === undefined || mediaType.includes("*")) return undefined;
  if (mediaType.startsWith("image/")) return "image_url";
  return mediaType in AUDIO_FORMATS ? "input_audio" : "file";
}

/** Converts a part of a user message. */
export function blockOf(part: ContentPart): unknown {
  if (part.type !== "file") return textBlockOf(part);
  const { fields, form } = ownOf(part, "openai");
  const { mediaType, data, url, name } = part;
  const type = form.as ?? usualBlock(part);
  const inner = (key: string): Fields => (isObject(fields[key]) ? fields[key] : {});
  const source = data === undefined ? url : dataUrlOf(mediaType, data);
  if (type === "image_url" && source !== undefined) {
    return { ...fields, type, image_url: { ...inner(type), url: source } };
  }
  if (type === "input_audio" && data !== undefined && mediaType in AUDIO_FORMATS) {
    return { ...fields, type, input_audio: { ...inner(type), data, format: AUDIO_FORMATS[mediaType] } };
  }
  if (type === "file" && data !== undefined) {
    const filename = name === undefined ? {} : { filename: name };
    return { ...fields, type, file: { ...inner(type), ...filename, file_data: source } };
  }
  return { type: "text", text: standInFor(part) };
}

/** Converts a part of any other message, which holds text only: files and data become text. */
export function textBlockOf(part: ContentPart): unknown {
  if (part.type === "text") {
    const { fields, form } = ownOf(part, "openai");
    if (form.as === "refusal_block") return { ...fields, type: "refusal", refusal: part.text };
    return { ...fields, type: "text", text: part.text };
  }
  if (isForeignBlock(part, "openai")) return part.data;
  if (part.type === "file" && ownOf(part, "openai").form.as !== undefined) return blockOf(part);
  return { type: "text", text: standInFor(part) };
}
