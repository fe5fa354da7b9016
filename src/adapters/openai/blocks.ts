import type { FilePart, TextPart } from "../../core/message.ts";
import { dataUrlOf, readDataUrl } from "../shared/data-url.ts";
import { type ContentPart, isUnknownBlock, readBlock, standInFor, textReader } from "../shared/message.ts";
import { asObject, defined, type Fields, keep, nested, ownOf } from "../shared/own.ts";

const AUDIO_FORMATS: Record<string, string> = {
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/mpeg": "mp3",
  "audio/mp3": "mp3",
};
const AUDIO_TYPES: Record<string, string> = { wav: "audio/wav", mp3: "audio/mpeg" };

const SOME_IMAGE = "image/*";

/** Converts a block of content. Unknown kinds of block are kept whole in a `data` part. */
export function contentOfBlock(block: unknown): ContentPart {
  return readBlock<ContentPart>("openai", block, [textReader("openai"), readRefusal, readImage, readAudio, readFile]);
}

function readRefusal({ type, refusal, ...fields }: Fields): TextPart | undefined {
  if (type !== "refusal" || typeof refusal !== "string") return undefined;
  return { type: "text", text: refusal, ...keep("openai", fields, { as: "refusal_block" }) };
}

function readImage({ type, image_url, ...fields }: Fields): FilePart | undefined {
  const { url, ...inner } = asObject(image_url);
  if (type !== "image_url" || typeof url !== "string") return undefined;
  return filePart(readDataUrl(url) ?? { mediaType: SOME_IMAGE, url }, type, fields, inner);
}

function readAudio({ type, input_audio, ...fields }: Fields): FilePart | undefined {
  const { data, format, ...inner } = asObject(input_audio);
  const mediaType = AUDIO_TYPES[String(format)];
  if (type !== "input_audio" || typeof data !== "string" || mediaType === undefined) return undefined;
  return filePart({ mediaType, data }, type, fields, inner);
}

function readFile({ type, file, ...fields }: Fields): FilePart | undefined {
  const { file_data, filename: name, ...inner } = asObject(file);
  const bytes = typeof file_data === "string" ? readDataUrl(file_data) : undefined;
  if (type !== "file" || bytes === undefined || (name !== undefined && typeof name !== "string")) return undefined;
  return filePart({ ...bytes, name }, type, fields, inner);
}

function filePart(file: Omit<FilePart, "type">, type: string, fields: Fields, inner: Fields): FilePart {
  const part = defined({ type: "file", ...file } as FilePart);
  const as = type === usualBlock(part) ? undefined : type;
  return { ...part, ...keep("openai", { ...fields, ...nested(type, inner) }, { as }) };
}

/** Returns undefined if OpenAI has no block for such a file. */
function usualBlock({ mediaType, data, url }: FilePart): string | undefined {
  if (mediaType.startsWith("image/") && data === undefined && url !== undefined) return "image_url";
  if (data === undefined || mediaType.includes("*")) return undefined;
  if (mediaType.startsWith("image/")) return "image_url";
  return mediaType in AUDIO_FORMATS ? "input_audio" : "file";
}

/** Converts a part of a user message. */
export function userBlockOf(part: ContentPart): unknown {
  if (part.type !== "file") return textBlockOf(part);
  const { fields, form } = ownOf(part, "openai");
  const { mediaType, data, url, name } = part;
  const type = form.as ?? usualBlock(part);
  const source = data === undefined ? url : dataUrlOf(mediaType, data);
  if (type === "image_url" && source !== undefined) {
    return { ...fields, type, image_url: { ...asObject(fields.image_url), url: source } };
  }
  if (type === "input_audio" && data !== undefined && mediaType in AUDIO_FORMATS) {
    return {
      ...fields,
      type,
      input_audio: { ...asObject(fields.input_audio), data, format: AUDIO_FORMATS[mediaType] },
    };
  }
  if (type === "file" && data !== undefined) {
    return { ...fields, type, file: defined({ ...asObject(fields.file), filename: name, file_data: source }) };
  }
  return { type: "text", text: standInFor(part) };
}

/** Converts a part of a message that is not the user's. Files and data become text, because only users send files. */
export function textBlockOf(part: ContentPart): unknown {
  if (part.type === "text") {
    const { fields, form } = ownOf(part, "openai");
    if (form.as === "refusal_block") return { ...fields, type: "refusal", refusal: part.text };
    return { ...fields, type: "text", text: part.text };
  }
  if (isUnknownBlock(part, "openai")) return part.data;
  if (part.type === "file" && ownOf(part, "openai").form.as !== undefined) return userBlockOf(part);
  return { type: "text", text: standInFor(part) };
}
