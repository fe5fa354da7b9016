import type { EntireEntry } from "./recall-data.ts";

/** A cut of a session, with the files that the work after the cut uses again. */
export interface Cut {
  /** The number of entries before the cut. */
  entryCount: number;
  /** The number of entries up to the last of the next 30 calls. */
  entryEnd: number;
  /** The base names of the files, at least two. */
  gold: ReadonlySet<string>;
}

const CALLS_MIN = 100;
const FIRST_CALL = 50;
const EVERY_CALLS = 25;
const CALLS_AHEAD = 30;
const GOLD_MIN = 2;

const FILE = /(?:[\w.@~-]*\/)+[\w.@-]+\.\w{1,8}\b|\b[\w.-]+\.(?:go|tsx?|js|py|md|json|sh|ya?ml|toml)\b/g;

/**
 * Returns the cuts of a session of at least 100 calls: before call 50, 75, 100 … (from 0), while 30 calls remain. The gold of
 * a cut is the files that the next 30 calls name and that were named before.
 */
export function cutsOf(entries: readonly EntireEntry[]): Cut[] {
  const calls = entries.flatMap(({ kind }, index) => (kind === "tool_call" ? [index] : []));
  if (calls.length < CALLS_MIN) return [];
  const seen = new Set<string>();
  const cuts: Cut[] = [];
  let read = 0;
  for (let call = FIRST_CALL; call + CALLS_AHEAD <= calls.length; call += EVERY_CALLS) {
    const entryCount = calls[call]!;
    for (; read < entryCount; read++) for (const name of fileNames(entries[read]!)) seen.add(name);
    const ahead = calls.slice(call, call + CALLS_AHEAD).flatMap((index) => fileNames(entries[index]!));
    const gold = new Set(ahead.filter((name) => seen.has(name)));
    const entryEnd = calls[call + CALLS_AHEAD - 1]! + 1;
    if (gold.size >= GOLD_MIN) cuts.push({ entryCount, entryEnd, gold });
  }
  return cuts;
}

function fileNames({ text }: EntireEntry): string[] {
  return Array.from(text.matchAll(FILE), ([path]) => path.slice(path.lastIndexOf("/") + 1));
}
