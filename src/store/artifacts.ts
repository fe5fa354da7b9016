import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { eq, sql } from "drizzle-orm";
import { StoreError } from "../core/errors.ts";
import { ARTIFACT_CHARS_MIN } from "../core/limits.ts";
import type { JsonValue, Part } from "../core/message.ts";
import type { StoreDatabase } from "./open.ts";
import { artifacts, messageArtifacts } from "./schema.ts";

/** A long string taken out of a message, and where it stood. */
export interface Artifact {
  sha256: string;
  encoding: "utf8" | "utf16le";
  bytes: Buffer;
  /** JSON Pointer (RFC 6901) into the message's parts. */
  pointer: string;
}

/** First in the bytes of a string kept as UTF-16. No UTF-8 begins with it, so two strings never share their bytes. */
const BYTE_ORDER_MARK = "\ufeff";

/** Stands in `messages.parts` where the string stood, for people who read the column. Which strings are notes says
 *  `message_artifacts` alone, so a message that happens to contain one is not misread. */
const NOTE_PREFIX = "artifact:sha256:";

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
    found.push({ sha256, encoding, bytes, pointer });
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

/** Rows of `artifacts` and `message_artifacts`. */
export class ArtifactRepository {
  readonly #path: string;
  readonly #insert;
  readonly #link;
  readonly #ofMessage;
  readonly #deleteOrphans;

  constructor({ orm, client, path }: StoreDatabase) {
    this.#path = path;
    this.#insert = orm
      .insert(artifacts)
      .values({
        sha256: sql.placeholder("sha256"),
        encoding: sql.placeholder("encoding"),
        byteLength: sql.placeholder("byteLength"),
        compressed: sql.placeholder("compressed"),
        content: sql.placeholder("content"),
      })
      .onConflictDoNothing()
      .prepare();
    this.#link = orm
      .insert(messageArtifacts)
      .values({
        messageId: sql.placeholder("messageId"),
        pointer: sql.placeholder("pointer"),
        sha256: sql.placeholder("sha256"),
      })
      .prepare();
    this.#deleteOrphans = client.prepare(
      "DELETE FROM artifacts WHERE sha256 NOT IN (SELECT sha256 FROM message_artifacts)",
    );
    this.#ofMessage = orm
      .select({ pointer: messageArtifacts.pointer, artifact: artifacts })
      .from(messageArtifacts)
      .innerJoin(artifacts, eq(artifacts.sha256, messageArtifacts.sha256))
      .where(eq(messageArtifacts.messageId, sql.placeholder("messageId")))
      .prepare();
  }

  add(messageId: number, found: readonly Artifact[]): void {
    for (const { sha256, encoding, bytes, pointer } of found) {
      const deflated = deflateRawSync(bytes, { level: 1 });
      const compressed = deflated.byteLength < bytes.byteLength;
      this.#insert.run({
        sha256,
        encoding,
        byteLength: bytes.byteLength,
        compressed,
        content: compressed ? deflated : bytes,
      });
      this.#link.run({ messageId, pointer, sha256 });
    }
  }

  /** @returns how many went: those that no message has any more. */
  deleteOrphans(): number {
    return this.#deleteOrphans.run().changes;
  }

  /** The parts of a message as they were appended. */
  restore(messageId: number, partsJson: string): Part[] {
    const parts = JSON.parse(partsJson) as Part[];
    if (!partsJson.includes(NOTE_PREFIX)) return parts;
    for (const { pointer, artifact } of this.#ofMessage.all({ messageId })) {
      setAt(parts as unknown as JsonValue, pointer, this.#textOf(artifact));
    }
    return parts;
  }

  #textOf({ sha256, encoding, byteLength, compressed, content }: typeof artifacts.$inferSelect): string {
    let bytes: Buffer;
    try {
      bytes = compressed ? inflateRawSync(content, { maxOutputLength: Math.max(1, byteLength) }) : content;
    } catch (cause) {
      throw new StoreError(
        "STORE_CORRUPT",
        { path: this.#path, reason: `artifact ${sha256} does not inflate` },
        { cause },
      );
    }
    if (createHash("sha256").update(bytes).digest("hex") !== sha256) {
      throw new StoreError("STORE_CORRUPT", { path: this.#path, reason: `artifact ${sha256} has other bytes` });
    }
    return encoding === "utf8" ? bytes.toString(encoding) : bytes.toString(encoding).slice(BYTE_ORDER_MARK.length);
  }
}

function setAt(root: JsonValue, pointer: string, text: string): void {
  const steps = pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  let target = root as Record<string, JsonValue>;
  for (const step of steps.slice(0, -1)) target = target[step] as Record<string, JsonValue>;
  target[steps.at(-1)!] = text;
}
