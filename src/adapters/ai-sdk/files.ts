import type { FilePart } from "../../core/message.ts";
import { dataUrlOf, readDataUrl } from "../shared/data-url.ts";
import { type Fields, isName, keep, ownOf } from "../shared/own.ts";

/** The media type of an image whose kind is unknown. */
const SOME_IMAGE = "image/*";

/** Media types of images, by the first characters of their base64. */
const IMAGE_STARTS = { iVBORw0KGgo: "image/png", "/9j/": "image/jpeg", R0lGOD: "image/gif", UklGR: "image/webp" };

/** Converts a `file` or `image` part of a model message. Returns undefined for content of an unknown form. */
export function fileOfPart({ type, ...part }: Fields): FilePart | undefined {
  const key = type === "image" ? "image" : "data";
  const { [key]: held, mediaType, filename, ...fields } = part;
  const source = sourceOf(held);
  const isNamed = filename === undefined || typeof filename === "string";
  if (source === undefined || !isNamed || (mediaType !== undefined && !isName(mediaType))) return undefined;
  if (mediaType === undefined && type !== "image") return undefined;
  const { mediaType: seen, ...content } = source;
  const start = Object.keys(IMAGE_STARTS).find((start) => content.data?.startsWith(start));
  const guess = IMAGE_STARTS[start as keyof typeof IMAGE_STARTS] ?? SOME_IMAGE;
  return {
    type: "file",
    mediaType: mediaType ?? seen ?? guess,
    ...(filename !== undefined && { name: filename }),
    ...content,
    ...keep("aiSdk", fields, {
      as: type === "image" ? type : undefined,
      mediaType: mediaType === undefined ? "absent" : undefined,
      // The type in a data URL may differ from the part's.
      urlType: seen,
    }),
  };
}

/** Turns bytes into base64 and `URL` objects into strings, so that JSON can hold them. */
function sourceOf(held: unknown): { data?: string; url?: string; mediaType?: string } | undefined {
  if (held instanceof Uint8Array) {
    return { data: Buffer.from(held.buffer, held.byteOffset, held.byteLength).toString("base64") };
  }
  if (held instanceof ArrayBuffer) return { data: Buffer.from(held).toString("base64") };
  const text = held instanceof URL ? held.href : held;
  if (typeof text !== "string") return undefined;
  return readDataUrl(text) ?? (/^[a-z][a-z0-9+.-]*:/i.test(text) ? { url: text } : { data: text });
}

/** Makes a part of a model message from a file that has bytes or a URL. */
export function partOfFile(file: FilePart): Fields {
  const { fields, form } = ownOf(file, "aiSdk");
  const { mediaType, name, data, url } = file;
  const held = typeof form.urlType === "string" && data !== undefined ? dataUrlOf(form.urlType, data) : (data ?? url);
  const type = form.as === "image" ? "image" : "file";
  return {
    ...fields,
    type,
    [type === "image" ? "image" : "data"]: held,
    ...(form.mediaType !== "absent" && { mediaType }),
    ...(name !== undefined && { filename: name }),
  };
}
