import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { DamageError } from "./damage.ts";
import { ARTIFACT_CHARS_MIN } from "./limits.ts";
import type { JsonValue, Part } from "./message.ts";

/** Begins the note that replaces a string. Other texts may begin with it; `message_artifacts` lists the notes. */
export const NOTE_PREFIX = "artifact:sha256:";

/** Returns true if a string of stored parts may be a note, which stands for a long string. */
export function mayBeNote(text: string): boolean {
  return text.startsWith(NOTE_PREFIX);
}

/** A long string of a message as it is stored. */
export interface StoredArtifact {
  sha256: string;
  /** `utf8`, or `utf16le` for a string that UTF-8 cannot hold. */
  encoding: "utf8" | "utf16le";
  byteLength: number;
  compressed: boolean;
  content: Buffer;
}

/** With its JSON Pointer (RFC 6901) in the parts. */
export type Artifact = StoredArtifact & { pointer: string };

/** Begins a string that is stored as UTF-16. No UTF-8 begins with it, so different strings have different bytes. */
const BYTE_ORDER_MARK = "\ufeff";

/** Puts a long string back into the parts of its message. @param corrupt  Throws the error for damaged content. */
export function putBack(
  parts: Part[],
  pointer: string,
  artifact: StoredArtifact,
  corrupt: (reason: string, cause?: unknown) => never,
): void {
  setAt(parts as unknown as JsonValue, pointer, textOf(artifact, corrupt));
}

/** Returns the long string. @param corrupt  Throws the error for damaged content. */
export function textOf(
  { sha256, encoding, byteLength, compressed, content }: StoredArtifact,
  corrupt: (reason: string, cause?: unknown) => never,
): string {
  const inflated = (): Buffer => {
    try {
      return compressed ? inflateRawSync(content, { maxOutputLength: Math.max(1, byteLength) }) : content;
    } catch (cause) {
      return corrupt("does not inflate", cause);
    }
  };
  const bytes = inflated();
  if (encoding !== "utf8" && encoding !== "utf16le") corrupt(`has the unknown encoding ${encoding}`);
  const isWhole = bytes.byteLength === byteLength && createHash("sha256").update(bytes).digest("hex") === sha256;
  if (!isWhole) corrupt("has other bytes");
  return encoding === "utf8" ? bytes.toString(encoding) : bytes.toString(encoding).slice(BYTE_ORDER_MARK.length);
}

/** Returns false if all strings of the message are in its own row. */
export function mayHaveArtifacts(partsJson: string): boolean {
  return partsJson.includes(NOTE_PREFIX);
}

function setAt(root: JsonValue, pointer: string, text: string): void {
  const steps = pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  let target: JsonValue = root;
  for (const [index, step] of steps.entries()) {
    // A pointer from another store must not lead to a prototype.
    if (typeof target !== "object" || target === null || !Object.hasOwn(target, step)) {
      throw new DamageError("a long string of a message has no place in its parts");
    }
    const holder = target as Record<string, JsonValue>;
    if (index === steps.length - 1) holder[step] = text;
    else target = holder[step]!;
  }
}

/** Returns the parts as JSON without their long strings, and those strings. */
export function extractArtifacts(parts: readonly Part[]): { partsJson: string; artifacts: Artifact[] } {
  const whole = JSON.stringify(parts);
  if (whole.length < ARTIFACT_CHARS_MIN) return { partsJson: whole, artifacts: [] };
  const found: Artifact[] = [];
  const stripped = mapStrings(parts as unknown as JsonValue, "", (text, pointer) => {
    // A column cannot hold a pointer with a lone surrogate, so a string under such a key stays in the parts.
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
