import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { ARTIFACT_CHARS_MIN } from "../core/limits.ts";
import type { JsonValue, Part } from "../core/message.ts";

/** A long string taken out of a message, and where it stood. */
export interface Artifact {
  sha256: string;
  encoding: "utf8" | "utf16le";
  /** Of the string in its encoding, before anything was compressed. */
  byteLength: number;
  /** Whether `content` is deflated (RFC 1951): only where that is shorter. */
  compressed: boolean;
  content: Buffer;
  /** JSON Pointer (RFC 6901) into the message's parts. */
  pointer: string;
}

/** First in the bytes of a string kept as UTF-16. No UTF-8 begins with it, so two strings never share their bytes. */
export const BYTE_ORDER_MARK = "\ufeff";

/** Stands in `messages.parts` where the string stood, for people who read the column. Which strings are notes says
 *  `message_artifacts` alone, so a message that happens to contain one is not misread. */
export const NOTE_PREFIX = "artifact:sha256:";

/** Take every long string out of the parts. The parts given are not changed. */
export function extractArtifacts(parts: readonly Part[]): { partsJson: string; artifacts: Artifact[] } {
  const whole = JSON.stringify(parts);
  if (whole.length < ARTIFACT_CHARS_MIN) return { partsJson: whole, artifacts: [] };
  const found: Artifact[] = [];
  const stripped = mapStrings(parts as unknown as JsonValue, "", (text, pointer) => {
    // Under a key with half a surrogate pair it stays where it is: no column could hold the way to it.
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
