import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { ARTIFACT_CHARS_MIN } from "../core/limits.ts";
import type { JsonValue, Part } from "../core/message.ts";

/** A long string of a message. */
export interface Artifact {
  sha256: string;
  encoding: "utf8" | "utf16le";
  /** The bytes of the string in its encoding, before compression. */
  byteLength: number;
  /** True if `content` is deflated (RFC 1951), because that is shorter. */
  compressed: boolean;
  content: Buffer;
  /** JSON Pointer (RFC 6901) into the message's parts. */
  pointer: string;
}

/** Begins the bytes of a string kept as UTF-16. No UTF-8 begins with it, so two strings never have the same bytes. */
export const BYTE_ORDER_MARK = "\ufeff";

/** Begins the note that replaces the string in `messages.parts`. Only `message_artifacts` says which strings are notes, so a
 *  message that happens to contain such a text is read correctly. */
export const NOTE_PREFIX = "artifact:sha256:";

/** Returns the parts as JSON without their long strings, and these strings. The parts given are not changed. */
export function extractArtifacts(parts: readonly Part[]): { partsJson: string; artifacts: Artifact[] } {
  const whole = JSON.stringify(parts);
  if (whole.length < ARTIFACT_CHARS_MIN) return { partsJson: whole, artifacts: [] };
  const found: Artifact[] = [];
  const stripped = mapStrings(parts as unknown as JsonValue, "", (text, pointer) => {
    // No column can hold a pointer with half a surrogate pair, so a string under such a key stays.
    if (text.length < ARTIFACT_CHARS_MIN || !pointer.isWellFormed()) return text;
    const encoding = text.isWellFormed() ? "utf8" : "utf16le"; // UTF-8 has no lone surrogates
    const bytes = Buffer.from(encoding === "utf8" ? text : BYTE_ORDER_MARK + text, encoding);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const deflated = deflateRawSync(bytes, { level: 1 });
    const compressed = deflated.byteLength < bytes.byteLength;
    const content = compressed ? deflated : bytes;
    found.push({ sha256, encoding, byteLength: bytes.byteLength, compressed, content, pointer });
    return `${NOTE_PREFIX}${sha256} (${bytes.byteLength} bytes)`;
  });
  return { partsJson: JSON.stringify(stripped), artifacts: found };
}

function mapStrings(value: JsonValue, pointer: string, map: (text: string, pointer: string) => string): JsonValue {
  if (typeof value === "string") return map(value, pointer);
  if (Array.isArray(value)) return value.map((item, index) => mapStrings(item, `${pointer}/${index}`, map));
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, JsonValue> = {};
  for (const [key, item] of Object.entries(value)) {
    const step = key.replaceAll("~", "~0").replaceAll("/", "~1");
    Object.defineProperty(copy, key, {
      value: mapStrings(item, `${pointer}/${step}`, map),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}
