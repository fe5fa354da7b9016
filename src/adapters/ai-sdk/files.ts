import type { FilePart } from "../../core/message.ts";
import { dataUrlOf, readDataUrl } from "../shared/data-url.ts";
import { defined, type Fields, isName, keep, ownOf } from "../shared/own.ts";

const SOME_IMAGE = "image/*";

/** The first characters of an image's base64, and the media type that they imply. */
const IMAGE_STARTS = { iVBORw0KGgo: "image/png", "/9j/": "image/jpeg", R0lGOD: "image/gif", UklGR: "image/webp" };

export function readFile({ type, ...part }: Fields): FilePart | undefined {
  if (type !== "file" && type !== "image") return undefined;
  const { [type === "image" ? "image" : "data"]: held, mediaType, filename: name, ...fields } = part;
  const source = sourceOf(held);
  if (source === undefined || (name !== undefined && typeof name !== "string")) return undefined;
  if (mediaType === undefined ? type === "file" : !isName(mediaType)) return undefined;
  const { mediaType: urlType, ...content } = source;
  const start = Object.entries(IMAGE_STARTS).find(([start]) => content.data?.startsWith(start));
  const form = {
    as: type === "image" ? type : undefined,
    mediaType: mediaType === undefined ? "absent" : undefined,
    // The type in a data URL may differ from the part's.
    urlType,
  };
  const knownType = (mediaType as string | undefined) ?? urlType ?? start?.[1] ?? SOME_IMAGE;
  return {
    ...defined<FilePart>({ type: "file", mediaType: knownType, name, ...content }),
    ...keep("aiSdk", fields, form),
  };
}

/** Turns bytes and `URL` objects into strings, so that JSON can hold them. */
function sourceOf(held: unknown): { data?: string; url?: string; mediaType?: string } | undefined {
  if (held instanceof Uint8Array) {
    return { data: Buffer.from(held.buffer, held.byteOffset, held.byteLength).toString("base64") };
  }
  if (held instanceof ArrayBuffer) return { data: Buffer.from(held).toString("base64") };
  const text = held instanceof URL ? held.href : held;
  if (typeof text !== "string") return undefined;
  return readDataUrl(text) ?? (/^[a-z][a-z0-9+.-]*:/i.test(text) ? { url: text } : { data: text });
}

export function partOfFile(file: FilePart): Fields {
  const { fields, form } = ownOf(file, "aiSdk");
  const { mediaType, name: filename, data, url } = file;
  const held = typeof form.urlType === "string" && data !== undefined ? dataUrlOf(form.urlType, data) : (data ?? url);
  const source = form.as === "image" ? { type: "image", image: held } : { type: "file", data: held };
  const sentType = form.mediaType === "absent" ? undefined : mediaType;
  return defined({ ...fields, ...source, mediaType: sentType, filename });
}
