import type { NotedMessage } from "../../core/notes.ts";
import { WorkingSet } from "../../core/working-set.ts";
import type { BlockIndex, IndexedMessage } from "../digest/block-index.ts";
import type { BlockedMessage } from "../digest/blocks.ts";

/** A message with only some of its notes. */
type Noted<K extends keyof NotedMessage> = Pick<NotedMessage, "messageId" | "seq" | K>;

/** A line that continuity may show, and the message that it comes from. */
export interface NotedLine {
  text: string;
  messageId: number;
  seq: number;
}

/** What the user asked to be kept, or settled. */
export interface KeptLine extends NotedLine {
  /** True if the user asked to remember it. */
  isAsked: boolean;
  /** The value that the user gave before. */
  was?: string;
}

/** A file named this many messages ago counts half. Values from 60 to 250 give about equal results. */
const HALVING_MESSAGES = 120;

const ACTIONS_MAX = 8;

/**
 * Returns the user's requests, the user's rules, and the decisions, each text once. The first request comes first, because the
 * others serve it. All else is ordered newest first.
 */
export function saidLines(notes: readonly Noted<"said">[]): Record<"asked" | "rules" | "decided", NotedLine[]> {
  const newest = notes.toReversed().flatMap(({ messageId, seq, said }) => {
    return said.toReversed().map(({ kind, text }) => ({ kind, text, messageId, seq }));
  });
  const first = newest.findLast(({ kind }) => kind === "request" || kind === "rule");
  const seen = new Set<string>();
  const others = newest.filter((line) => {
    const key = line.text.toLowerCase();
    return line !== first && !seen.has(key) && seen.add(key);
  });
  const asked = others.filter(({ kind }) => kind === "request");
  return {
    asked: first === undefined ? asked : [first, ...asked],
    rules: others.filter(({ kind }) => kind === "rule"),
    decided: others.filter(({ kind }) => kind === "decision"),
  };
}

/**
 * Returns errors, and outcomes such as counts of failed tests, both newest first. Only the last result of each action counts, so a
 * success removes an earlier error of the same action.
 *
 * @param isMendedBy  Returns true if a success of another action removes an error, too.
 */
export function resultLines(
  notes: readonly Noted<"results">[],
  isMendedBy: (failed: string, succeeded: string) => boolean = () => false,
): Record<"errors" | "outcomes", NotedLine[]> {
  const last = new Map<string, { isError: boolean; line: NotedLine }>();
  for (const { messageId, seq, results } of notes) {
    for (const { did, outcome, line } of results) {
      if (outcome === "unknown") continue;
      last.delete(did); // the newest goes to the end of the map
      if (outcome === "ok") {
        for (const [other, { isError }] of last) if (isError && isMendedBy(other, did)) last.delete(other);
      }
      if (line === undefined) continue;
      last.set(did, { isError: outcome === "failed", line: { text: `${did}: ${line}`, messageId, seq } });
    }
  }
  const newest = [...last.values()].reverse();
  const linesOf = (wanted: boolean) => newest.flatMap(({ isError, line }) => (isError === wanted ? [line] : []));
  return { errors: linesOf(true), outcomes: linesOf(false) };
}

/** Returns the actions, newest first. An action repeated in a row counts as one. */
export function pathOfActions(notes: readonly Noted<"did">[]): NotedLine[] {
  const path: (NotedLine & { count: number })[] = [];
  for (const { messageId, seq, did } of notes.toReversed()) {
    for (const action of did.toReversed()) {
      const last = path.at(-1);
      if (last?.text === action) last.count++;
      else if (path.length === ACTIONS_MAX) return pathLines(path);
      else path.push({ text: action, messageId, seq, count: 1 });
    }
  }
  return pathLines(path);
}

function pathLines(path: readonly (NotedLine & { count: number })[]): NotedLine[] {
  return path.map(({ count, ...line }) => (count === 1 ? line : { ...line, text: `${line.text} ×${count}` }));
}

interface RankedName {
  /** The number of the name in the index. */
  number: number;
  weight: number;
  /** The number of names that were mentioned before this one. */
  order: number;
  /** The last message that mentions it. */
  messageId: number;
  seq: number;
}

/** Ranks identifiers by how often they were written, read or printed, and by how long ago. */
export class NameRanks {
  readonly #index: BlockIndex;
  readonly #byNumber = new Map<number, RankedName>();
  readonly #ranked: RankedName[];

  constructor(index: BlockIndex) {
    this.#index = index;
    for (const message of index.past) this.#mention(message, this.#byNumber, this.#byNumber);
    this.#ranked = [...this.#byNumber.values()].sort(heaviestFirst);
  }

  /** Yields the names of the messages before the window and of later ones, heaviest first. */
  *ranked(later: readonly BlockedMessage[] = []): Generator<NotedLine> {
    const changed = new Map<number, RankedName>();
    for (const message of later) this.#mention(this.#index.of(message), changed, this.#byNumber);
    const changes = [...changed.values()].sort(heaviestFirst);
    let next = 0;
    for (const name of this.#ranked) {
      if (changed.has(name.number)) continue;
      while (next < changes.length && heaviestFirst(changes[next]!, name) < 0) yield this.#lineOf(changes[next++]!);
      yield this.#lineOf(name);
    }
    for (const name of changes.slice(next)) yield this.#lineOf(name);
  }

  #lineOf({ number, messageId, seq }: RankedName): NotedLine {
    return { text: this.#index.lexicon.nameNumbers.textOf(number), messageId, seq };
  }

  #mention(
    { source: { id: messageId, seq, nameWeight }, names }: IndexedMessage,
    mentioned: Map<number, RankedName>,
    before: ReadonlyMap<number, RankedName>,
  ): void {
    // Only proportions count, so a mention in the last message before the window has its whole weight.
    const weight = nameWeight * 2 ** ((seq - this.#index.seqLast) / HALVING_MESSAGES);
    for (const number of names) {
      const name = mentioned.get(number);
      if (name !== undefined) {
        name.weight += weight;
        name.messageId = messageId;
        name.seq = seq;
        continue;
      }
      const known = before.get(number);
      const order = known?.order ?? (mentioned === before ? 0 : before.size) + mentioned.size;
      mentioned.set(number, { number, weight: (known?.weight ?? 0) + weight, order, messageId, seq });
    }
  }
}

function heaviestFirst(left: RankedName, right: RankedName): number {
  return right.weight - left.weight || left.order - right.order;
}

/** Ranks files by what was done with each, and by how long ago. */
export function rankedFiles(notes: readonly Noted<"files">[]): NotedLine[] {
  const set = new WorkingSet();
  const lastNamed = new Map<string, { messageId: number; seq: number }>();
  const end = notes.at(-1)?.seq ?? 0;
  for (const { messageId, seq, files } of notes) {
    const recency = 2 ** ((seq - end) / HALVING_MESSAGES);
    for (const { path, weight } of files) {
      // The weight of a very old file must not round to 0.
      set.add(path, weight * Math.max(recency, Number.MIN_VALUE / weight));
      lastNamed.set(path, { messageId, seq });
    }
  }
  return set.ranked().map((path) => ({ text: path, ...lastNamed.get(path)! }));
}
