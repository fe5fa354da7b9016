/** What the process that is going to be killed says, a line each, as JSON. */
export type Line =
  /** The file is open, and the sessions are there. */
  | { say: "open"; sessions: string[] }
  /** Messages are about to be appended: `to - from` of them, `batch` in each transaction. */
  | { say: "appending"; session: string; from: number; to: number; batch: number }
  /** All messages below `count` were acknowledged, and the newest got this id, if the call says. */
  | { say: "appended"; session: string; count: number; messageId?: number }
  /** How far the log has come by now, and how many summaries there are. */
  | { say: "stored"; logPosition: number; summaryCount: number }
  /** A session is about to be forgotten, or has been. */
  | { say: "forgetting" | "forgot"; session: string }
  /** Messages of a session are about to be forgotten, by their places, or have been. */
  | { say: "forgettingMessages" | "forgotMessages"; session: string; seqs: number[] }
  /** Derived rows are about to be deleted, for `verify --rebuild` to bring them back. */
  | { say: "damaging" }
  | { say: "rebuilt" };

/** All that has been promised about one file, by however many processes that were killed. */
export class Promises {
  /** Messages acknowledged, by session. */
  readonly counts = new Map<string, number>();
  /** The newest id that was returned, and its place, by session. */
  readonly newest = new Map<string, { seq: number; messageId: number }>();
  /** Places whose message was to be forgotten, by session, and whether that was acknowledged. */
  readonly forgotten = new Map<string, Map<number, boolean>>();
  logPosition = 0;
  summaryCount = 0;
  /** What was under way: a session may have either number of messages, or one that is some batches past the first. */
  changing: { session: string; from: number; to: number; batch: number } | undefined;
  isDamaged = false;

  get messageCount(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Another process takes over. `counts` are the messages that it finds: acknowledged or not, they must stay. */
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
        this.summaryCount = 0; // its summaries go, too; the others are counted again afterwards
        return;
      }
      case "forgettingMessages": {
        const count = this.counts.get(line.session) ?? 0;
        const rest = count - line.seqs.length;
        this.changing = { session: line.session, from: count, to: rest, batch: line.seqs.length };
        this.counts.set(line.session, rest);
        this.#note(line.session, line.seqs, false);
        this.summaryCount = 0; // as above
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
