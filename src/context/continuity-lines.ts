import type { NotedMessage } from "../core/notes.ts";
import { WorkingSet } from "../core/working-set.ts";

/** Something to tell, and the message it comes from. */
export interface NotedLine {
  text: string;
  messageId: number;
  seq: number;
}

/** Messages after which naming a file counts half. From 60 to 250 it makes no difference worth choosing by. */
const HALVING_MESSAGES = 120;

/** Actions that are told of. */
const ACTIONS_MAX = 16;

/**
 * What the user asked for, what the user ruled out, and what was decided, each text once, as it was last said. The first
 * request stands first, since all others serve it; otherwise the newest first.
 */
export function saidLines(notes: readonly NotedMessage[]): Record<"asked" | "rules" | "decided", NotedLine[]> {
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
 * How things stand by the last result of each call that was made: the errors that no success has followed, and the counts
 * of tests, linters and the like, both newest first. What a call only looked at may tell of anybody's errors and counts; a
 * command tells of its own.
 */
export function resultLines(notes: readonly NotedMessage[]): Record<"errors" | "outcomes", NotedLine[]> {
  const calls = new Map<string, NotedMessage["calls"][number]>();
  const last = new Map<string, { kind: "errors" | "outcomes"; line: NotedLine } | undefined>();
  for (const { messageId, seq, stepId, calls: made, results } of notes) {
    for (const call of made) calls.set(`${stepId} ${call.callId}`, call);
    for (const { callId, failed, error, outcome } of results) {
      const call = calls.get(`${stepId} ${callId}`);
      if (call === undefined) continue; // too long ago
      const action = actionOf(call);
      const tell = (kind: "errors" | "outcomes", text: string) => {
        last.set(action, { kind, line: { text: `${action}: ${text}`, messageId, seq } });
      };
      last.delete(action); // so that the newest stand last
      if (failed || (call.isCommand && error !== undefined)) tell("errors", error ?? "failed");
      else if (call.isCommand && outcome !== undefined) tell("outcomes", outcome);
    }
  }
  const newest = [...last.values()].reverse();
  const linesOf = (kind: string) => newest.flatMap((told) => (told?.kind === kind ? [told.line] : []));
  return { errors: linesOf("errors"), outcomes: linesOf("outcomes") };
}

function actionOf({ name, about }: { name: string; about: string }): string {
  return about === "" ? name : `${name} ${about}`;
}

/** What was done, the newest first; the same thing over and over is one action, and a call about nothing is none. */
export function pathOfActions(notes: readonly NotedMessage[]): NotedLine[] {
  const path: (NotedLine & { count: number })[] = [];
  for (const { messageId, seq, calls } of notes.toReversed()) {
    for (const call of calls.toReversed()) {
      if (call.about === "") continue;
      const action = actionOf(call);
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

/** Files, those that the work is about first: by how much was done with each, and how long ago. */
export function rankedFiles(notes: readonly NotedMessage[]): NotedLine[] {
  const set = new WorkingSet();
  const lastNamed = new Map<string, { messageId: number; seq: number }>();
  const end = notes.at(-1)?.seq ?? 0;
  for (const { messageId, seq, files } of notes) {
    const recency = 2 ** ((seq - end) / HALVING_MESSAGES);
    for (const { path, weight } of files) {
      // A weight must stay above 0 whatever the distance.
      set.add(path, weight * Math.max(recency, Number.MIN_VALUE / weight));
      lastNamed.set(path, { messageId, seq });
    }
  }
  return set.ranked().map((path) => ({ text: path, ...lastNamed.get(path)! }));
}
