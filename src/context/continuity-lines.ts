import type { NotedMessage } from "../core/notes.ts";
import { WorkingSet } from "../core/working-set.ts";

/** A line of the continuity block, and the message that it comes from. */
export interface NotedLine {
  text: string;
  messageId: number;
  seq: number;
}

/** A file named this many messages ago counts half. Values from 60 to 250 give about equal results. */
const HALVING_MESSAGES = 120;

/** Most actions in the block. */
const ACTIONS_MAX = 16;

/**
 * Returns the user's requests, the limits that the user set, and the decisions, each text once. The first request comes first,
 * because all others serve it. After it, the newest comes first.
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
 * Returns errors, and outcomes such as counts of failed tests, both newest first. Only the last result of each action counts,
 * so a success removes an earlier error. An error or outcome in the text of a result counts only if the call was a command,
 * because a file that was read may contain the errors of others.
 */
export function resultLines(notes: readonly NotedMessage[]): Record<"errors" | "outcomes", NotedLine[]> {
  const calls = new Map<string, NotedMessage["calls"][number]>();
  const last = new Map<string, { kind: "errors" | "outcomes"; line: NotedLine } | undefined>();
  for (const { messageId, seq, stepId, calls: made, results } of notes) {
    for (const call of made) calls.set(`${stepId} ${call.callId}`, call);
    for (const { callId, failed, error, outcome } of results) {
      const call = calls.get(`${stepId} ${callId}`);
      if (call === undefined) continue; // the call is too old to be noted
      const action = actionOf(call);
      const keep = (kind: "errors" | "outcomes", text: string) => {
        last.set(action, { kind, line: { text: `${action}: ${text}`, messageId, seq } });
      };
      last.delete(action); // the newest goes to the end of the map
      if (failed || (call.isCommand && error !== undefined)) keep("errors", error ?? "failed");
      else if (call.isCommand && outcome !== undefined) keep("outcomes", outcome);
    }
  }
  const newest = [...last.values()].reverse();
  const linesOf = (kind: string) => newest.flatMap((kept) => (kept?.kind === kind ? [kept.line] : []));
  return { errors: linesOf("errors"), outcomes: linesOf("outcomes") };
}

function actionOf({ name, about }: { name: string; about: string }): string {
  return about === "" ? name : `${name} ${about}`;
}

/** Returns the actions, newest first. Repeated calls are one action. A call with nothing to name, such as a file, is skipped. */
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

/** Returns the files, ranked by the weight of what was done with each and by how long ago that was. */
export function rankedFiles(notes: readonly NotedMessage[]): NotedLine[] {
  const set = new WorkingSet();
  const lastNamed = new Map<string, { messageId: number; seq: number }>();
  const end = notes.at(-1)?.seq ?? 0;
  for (const { messageId, seq, files } of notes) {
    const recency = 2 ** ((seq - end) / HALVING_MESSAGES);
    for (const { path, weight } of files) {
      // A weight must stay above 0 at any distance.
      set.add(path, weight * Math.max(recency, Number.MIN_VALUE / weight));
      lastNamed.set(path, { messageId, seq });
    }
  }
  return set.ranked().map((path) => ({ text: path, ...lastNamed.get(path)! }));
}
