import { type Artifact, putBack } from "../../core/artifacts.ts";
import { DamageError } from "../../core/damage.ts";
import type { Part } from "../../core/message.ts";
import { Repository } from "../file/repository.ts";
import { columns, type InsertOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

const ARTIFACT = columns(TABLES.artifacts);
const LINK = columns(TABLES.messageArtifacts);

export class ArtifactRepository extends Repository {
  // Appends and reads of long messages run these.
  readonly #insert = this.statement<[Record<string, unknown>]>`${ARTIFACT.insert()} ON CONFLICT DO NOTHING`.run;
  readonly #link = this.statement<InsertOf<typeof LINK>>`${LINK.insert()}`;
  readonly #ofMessage = this.statement<[messageId: number], Artifact>`
    SELECT l.pointer, ${ARTIFACT.of("a")} FROM message_artifacts l JOIN artifacts a ON a.sha256 = l.sha256
    WHERE l.message_id = ?`;
  readonly deleteOrphans = this.statement`
    DELETE FROM artifacts WHERE sha256 NOT IN (SELECT sha256 FROM message_artifacts)`.changes;

  add(messageId: number, found: readonly Artifact[]): void {
    for (const { pointer, ...artifact } of found) {
      this.#insert(ARTIFACT.stored(artifact));
      this.#link.run({ messageId, pointer, sha256: artifact.sha256 });
    }
  }

  restore(messageId: number, parts: Part[]): void {
    for (const { pointer, ...artifact } of this.#ofMessage.all(messageId)) {
      putBack(parts, pointer, artifact, (reason, cause) => {
        throw new DamageError(`artifact ${artifact.sha256} ${reason}`, { cause });
      });
    }
  }
}
