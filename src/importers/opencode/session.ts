import type { JsonObject } from "../lines.ts";
import { notYet } from "../message-event.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { millisecondsOf, objectOf, saidOf, stringOf } from "../values.ts";
import { entriesOf, type StoredMessage } from "./message.ts";

/** Turns the messages of one session into events. It is given a row of the database, or the `info` of an export. */
export class SessionTranslator extends Translator<StoredMessage, JsonObject> {
  /** The first message that the newest compaction keeps, until its summary is read. */
  #keptFrom: string | undefined;

  protected override read(stored: StoredMessage): undefined {
    const { line, info } = stored;
    this.given.id ??= info.sessionID ?? "unknown";
    const compaction = stored.parts.find(({ type }) => type === "compaction");
    if (compaction !== undefined) this.#keptFrom = stringOf(compaction.tail_start_id);
    const { entries, problem, isUnfinished } = entriesOf(stored, this.file.isFinished === true);
    for (const { message } of entries) {
      const isSummary = message.metadata?.isCompactSummary === true;
      if (isSummary && this.#keptFrom !== undefined) message.metadata!.keptFrom = this.#keptFrom;
    }
    this.open().add(entries);
    if (problem !== undefined) this.warn(line, problem);
    if (isUnfinished) this.warn(line, notYet(`message ${stored.id} is still being written`));
  }

  protected override session(): SessionFacts {
    const { id, parent_id, parentID, directory, title, time_created, time, version, share_url } = this.given;
    return {
      externalId: String(id),
      source: "opencode",
      parentExternalId: stringOf(parent_id) ?? stringOf(parentID),
      isSubagent: stringOf(parent_id) !== undefined || stringOf(parentID) !== undefined,
      folder: stringOf(directory),
      title: stringOf(title),
      createdAtMs: millisecondsOf(time_created) ?? millisecondsOf(objectOf(time).created),
      metadata: saidOf({ cwd: directory, version, share_url }),
    };
  }
}
