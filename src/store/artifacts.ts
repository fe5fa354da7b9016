import { createHash } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import { notInArray } from "drizzle-orm";
import { StoreError } from "../core/errors.ts";
import type { JsonValue, Part } from "../core/message.ts";
import { type Artifact, BYTE_ORDER_MARK, NOTE_PREFIX } from "./extract-artifacts.ts";
import { Repository } from "./repository.ts";
import { artifacts, messageArtifacts } from "./schema.ts";
import { columns, type RowOf } from "./statement.ts";

const ARTIFACT = columns(artifacts);
const LINK = columns(messageArtifacts);

/** Rows of `artifacts` and `message_artifacts`. */
export class ArtifactRepository extends Repository {
  // Appends and reads of long messages run these.
  readonly #insert = this.statement<Omit<RowOf<typeof ARTIFACT>, "compressed"> & { compressed: 0 | 1 }>`
    ${ARTIFACT.insert()} ON CONFLICT DO NOTHING`;
  readonly #link = this.statement<RowOf<typeof LINK>>`${LINK.insert()}`;
  readonly #ofMessage = this.statement<[messageId: number], RowOf<typeof ARTIFACT> & { pointer: string }>`
    SELECT l.pointer, ${ARTIFACT.of("a")} FROM message_artifacts l JOIN artifacts a ON a.sha256 = l.sha256
    WHERE l.message_id = ?`;

  add(messageId: number, found: readonly Artifact[]): void {
    for (const { pointer, ...artifact } of found) {
      this.#insert.run({ ...artifact, compressed: artifact.compressed ? 1 : 0 });
      this.#link.run({ messageId, pointer, sha256: artifact.sha256 });
    }
  }

  /** Deletes the artifacts that no message refers to, and returns their number. */
  deleteOrphans(): number {
    const referred = this.orm.select({ sha256: messageArtifacts.sha256 }).from(messageArtifacts);
    return this.orm.delete(artifacts).where(notInArray(artifacts.sha256, referred)).run().changes;
  }

  /** Returns the parts of a message as they were appended. */
  restore(messageId: number, partsJson: string): Part[] {
    const parts = JSON.parse(partsJson) as Part[];
    if (!partsJson.includes(NOTE_PREFIX)) return parts;
    for (const { pointer, ...artifact } of this.#ofMessage.all(messageId)) {
      setAt(parts as unknown as JsonValue, pointer, this.#textOf(artifact));
    }
    return parts;
  }

  #textOf({ sha256, encoding, byteLength, compressed, content }: RowOf<typeof ARTIFACT>): string {
    const corrupt = (reason: string, cause?: unknown): StoreError =>
      new StoreError("STORE_CORRUPT", { path: this.path, reason: `artifact ${sha256} ${reason}` }, { cause });
    let bytes: Buffer;
    try {
      bytes = compressed ? inflateRawSync(content, { maxOutputLength: Math.max(1, byteLength) }) : content;
    } catch (cause) {
      throw corrupt("does not inflate", cause);
    }
    if (createHash("sha256").update(bytes).digest("hex") !== sha256) throw corrupt("has other bytes");
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
