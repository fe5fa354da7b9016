import { createHash } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import { eq, sql } from "drizzle-orm";
import { StoreError } from "../core/errors.ts";
import type { JsonValue, Part } from "../core/message.ts";
import { type Artifact, BYTE_ORDER_MARK, NOTE_PREFIX } from "./extract-artifacts.ts";
import type { StoreDatabase } from "./open.ts";
import { artifacts, messageArtifacts } from "./schema.ts";

/** Rows of `artifacts` and `message_artifacts`. */
export class ArtifactRepository {
  readonly #path: string;
  readonly #insert;
  readonly #link;
  readonly #ofMessage;
  readonly #deleteOrphans;

  constructor({ orm, client, path }: StoreDatabase) {
    this.#path = path;
    this.#insert = client.prepare<[string, string, number, number, Buffer]>(
      `INSERT INTO artifacts (sha256, encoding, byte_length, compressed, content) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
    );
    this.#link = client.prepare<[number, string, string]>(
      "INSERT INTO message_artifacts (message_id, pointer, sha256) VALUES (?, ?, ?)",
    );
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
    for (const { sha256, encoding, byteLength, compressed, content, pointer } of found) {
      this.#insert.run(sha256, encoding, byteLength, compressed ? 1 : 0, content);
      this.#link.run(messageId, pointer, sha256);
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
