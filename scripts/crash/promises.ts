/** A line of JSON that the worker prints before or after a change, until it is killed. */
export type Line =
  /** The file is open, and the sessions exist. */
  | { say: "open"; sessions: string[] }
  /** Messages are about to be appended: `to - from` of them, `batch` in each transaction. */
  | { say: "appending"; session: string; from: number; to: number; batch: number }
  /** All messages before seq `count` were acknowledged. `messageId` is the id of the newest, if the call returned it. */
  | { say: "appended"; session: string; count: number; messageId?: number }
  /** The newest log position, and the number of summaries. */
  | { say: "stored"; logPosition: number; summaryCount: number }
  /** A session is about to be forgotten, or was forgotten. */
  | { say: "forgetting" | "forgot"; session: string }
  /** Messages of a session, named by their seqs, are about to be forgotten, or were forgotten. */
  | { say: "forgettingMessages" | "forgotMessages"; session: string; seqs: number[] }
  /** Derived rows are about to be deleted, for `verify --rebuild` to restore. */
  | { say: "damaging" }
  | { say: "rebuilt" };

/** Everything that the store has acknowledged for one file, to all processes that were killed. */
export class Promises {
  /** The number of acknowledged messages, by session. */
  readonly counts = new Map<string, number>();
  /** The newest id that was returned, with its seq, by session. */
  readonly newest = new Map<string, { seq: number; messageId: number }>();
  /** The seqs of messages to forget, by session. The value is true if the deletion was acknowledged. */
  readonly forgotten = new Map<string, Map<number, boolean>>();
  logPosition = 0;
  summaryCount = 0;
  /** The change under way. Its session may have `from` messages, `to` messages, or `from` and a multiple of `batch`. */
  changing: { session: string; from: number; to: number; batch: number } | undefined;
  isDamaged = false;

  get messageCount(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Notes that another process continues. It finds `counts` messages, which must stay even if they were not acknowledged. */
  startOver(counts: ReadonlyMap<string, number>): void {
    this.isDamaged = false;
    this.changing = undefined;
    for (const [session, count] of counts) this.counts.set(session, count);
  }

  hear(line: Line): void {
    switch (line.say) {
      case "open":
        for (const session of line.sessions) this.counts.set(session, this.counts.get(session) ?? 0);
        return;
      case "appending":
        this.changing = line;
        return;
      case "appended":
        this.counts.set(line.session, line.count);
        if (line.messageId !== undefined) {
          this.newest.set(line.session, { seq: line.count - 1, messageId: line.messageId });
        }
        if (this.changing?.to === line.count) this.changing = undefined;
        return;
      case "stored":
        this.logPosition = line.logPosition;
        this.summaryCount = line.summaryCount;
        return;
      case "forgetting": {
        const count = this.counts.get(line.session) ?? 0;
        this.changing = { session: line.session, from: 0, to: count, batch: count };
        this.counts.delete(line.session);
        this.newest.delete(line.session);
        this.summaryCount = 0; // its summaries are deleted, too; the next `stored` line counts the others
        return;
      }
      case "forgettingMessages": {
        const count = this.counts.get(line.session) ?? 0;
        const remaining = count - line.seqs.length;
        this.changing = { session: line.session, from: count, to: remaining, batch: line.seqs.length };
        this.counts.set(line.session, remaining);
        this.#note(line.session, line.seqs, false);
        this.summaryCount = 0; // see `forgetting`
        return;
      }
      case "forgot":
        this.changing = undefined;
        return;
      case "forgotMessages":
        this.changing = undefined;
        this.#note(line.session, line.seqs, true);
        return;
      case "damaging":
      case "rebuilt":
        this.isDamaged = line.say === "damaging";
    }
  }

  #note(session: string, seqs: readonly number[], isAcknowledged: boolean): void {
    const forgotten = this.forgotten.get(session) ?? new Map<number, boolean>();
    for (const seq of seqs) forgotten.set(seq, isAcknowledged);
    this.forgotten.set(session, forgotten);
  }
}
