import type { NotedMessage } from "../../core/notes.ts";
import { WorkingSet } from "../../core/working-set.ts";

/** A message with only some of its notes. */
type Noted<K extends keyof NotedMessage> = Pick<NotedMessage, "messageId" | "seq" | K>;

/** A line that a story may show, and the message that it comes from. */
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
 * Returns errors, newest first. Only the last result of each action counts, so a success removes an earlier error of the same action.
 *
 * @param isMendedBy  Returns true if a success of another action removes an error, too.
 */
export function openErrors(
  notes: readonly Noted<"results">[],
  isMendedBy: (failed: string, succeeded: string) => boolean = () => false,
): NotedLine[] {
  const last = new Map<string, NotedLine>();
  for (const { messageId, seq, results } of notes) {
    for (const { did, outcome, line } of results) {
      if (outcome === "unknown") continue;
      last.delete(did); // the newest goes to the end of the map
      if (outcome === "ok") {
        for (const other of last.keys()) if (isMendedBy(other, did)) last.delete(other);
      } else if (line !== undefined) last.set(did, { text: `${did}: ${line}`, messageId, seq });
    }
  }
  return [...last.values()].reverse();
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
