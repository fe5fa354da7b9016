import { sampleBy } from "../recall/vector-source.ts";
import { byId, type IndexedMessage, type Segment } from "./segment.ts";

/** A segment in memory, with what searches need of its sessions. */
export class LoadedSegment {
  readonly place: number;
  readonly number: number;
  readonly segment: Segment;
  /** The messages of each session, in order of seq, and how many words they have together. */
  readonly sessions = new Map<number, { messages: IndexedMessage[]; wordCount: number }>();
  /** Messages that the segment removes. */
  readonly removals: readonly IndexedMessage[];
  #sampled: readonly IndexedMessage[] | undefined;
  #multiples: { step: number; messages: readonly IndexedMessage[] } | undefined;

  constructor(place: number, number: number, segment: Segment) {
    this.place = place;
    this.number = number;
    this.segment = segment;
    this.removals = segment.messages.filter(({ net }) => net < 0);
    for (const message of segment.messages) {
      if (message.net < 0) continue;
      const known = this.sessions.get(message.sessionNo) ?? { messages: [], wordCount: 0 };
      known.messages.push(message);
      known.wordCount += message.wordCount;
      this.sessions.set(message.sessionNo, known);
    }
    for (const { messages } of this.sessions.values()) messages.sort((left, right) => left.seq - right.seq);
  }

  /** Returns a message; undefined if the segment does not have it. */
  find(wanted: Pick<IndexedMessage, "sessionNo" | "messageId">): IndexedMessage | undefined {
    if (!this.sessions.has(wanted.sessionNo)) return undefined;
    const { messages } = this.segment;
    let [from, to] = [0, messages.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (byId(messages[middle]!, wanted) < 0) from = middle + 1;
      else to = middle;
    }
    const found = messages[from];
    return found !== undefined && found.net > 0 && byId(found, wanted) === 0 ? found : undefined;
  }

  /** Returns messages that a sample of several segments may have. */
  sampled(): readonly IndexedMessage[] {
    this.#sampled ??= sampleBy(
      this.segment.messages.filter(({ net }) => net > 0),
      ({ messageId }) => messageId,
    );
    return this.#sampled;
  }

  /** Returns the messages whose ids are multiples of a number. */
  multiplesOf(step: number): readonly IndexedMessage[] {
    if (this.#multiples?.step !== step) {
      const messages = this.segment.messages.filter(({ messageId, net }) => net > 0 && messageId % step === 0);
      this.#multiples = { step, messages };
    }
    return this.#multiples.messages;
  }

  /** Returns the messages of a session that are at most `radius` seqs away. */
  near(sessionNo: number, seq: number, radius: number): IndexedMessage[] {
    const { messages } = this.sessions.get(sessionNo) ?? { messages: [] };
    let [from, to] = [0, messages.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (messages[middle]!.seq < seq - radius) from = middle + 1;
      else to = middle;
    }
    while (to < messages.length && messages[to]!.seq <= seq + radius) to += 1;
    return messages.slice(from, to);
  }
}
