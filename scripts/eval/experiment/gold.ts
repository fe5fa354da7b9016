import type { Cut } from "../future-cuts.ts";
import { cutsOf } from "../future-cuts.ts";
import type { EntireEntry } from "../recall-data.ts";
import { entryText } from "./plain-text.ts";

/** What the 30 calls after a cut use again. A kind of which they use too little is undefined. */
export interface FutureGold {
  cut: Cut;
  files: ReadonlySet<string>;
  symbols: ReadonlySet<string> | undefined;
  lines: ReadonlySet<string> | undefined;
}

const SYMBOL = /\b(?:[a-z]+[A-Z]\w{2,}|[A-Z][a-z]+[A-Z]\w+|[a-z]+_[a-z_]{3,}\w)\b/g;
const SYMBOLS_MIN = 5;
const LINES_MIN = 3;
const LINE_CHARS = { min: 20, max: 400 };
const LINE_WORDS_MIN = 3;
/** A line in this many sessions is boilerplate. */
const LINE_SESSIONS_MAX = 12;
const READ_LINE_NUMBER = /^\s*\d+→/;

/** Returns the lines of a text that can be gold: trimmed, without the line numbers of read files. */
export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.replace(READ_LINE_NUMBER, "").trim())
    .filter((line) => line.length >= LINE_CHARS.min && line.length <= LINE_CHARS.max && isSaid(line));
}

function isSaid(line: string): boolean {
  return line.includes(" ") && (line.match(/\p{L}{3,}/gu)?.length ?? 0) >= LINE_WORDS_MIN;
}

export function symbolsOf(text: string): string[] {
  return text.match(SYMBOL) ?? [];
}

/** Returns the lines that occur in too many sessions. */
export function commonLines(sessions: readonly { messages: readonly EntireEntry[] }[]): Set<string> {
  const counts = new Map<string, number>();
  for (const { messages } of sessions) {
    for (const line of new Set(messages.flatMap((entry) => linesOf(entryText(entry))))) {
      counts.set(line, (counts.get(line) ?? 0) + 1);
    }
  }
  return new Set([...counts].filter(([, count]) => count >= LINE_SESSIONS_MAX).map(([line]) => line));
}

/** Returns the cuts of a session with their gold. All of it also occurs before the cut. */
export function futureGold(entries: readonly EntireEntry[], common: ReadonlySet<string>): FutureGold[] {
  const seenLines = new Set<string>();
  const seenSymbols = new Set<string>();
  let read = 0;
  return cutsOf(entries).map((cut) => {
    for (; read < cut.entryCount; read++) {
      const text = entryText(entries[read]!);
      for (const line of linesOf(text)) seenLines.add(line);
      for (const symbol of symbolsOf(text)) seenSymbols.add(symbol);
    }
    const ahead = entries.slice(cut.entryCount, cut.entryEnd);
    const calls = ahead.filter(({ kind }) => kind === "tool_call");
    const said = ahead.filter(({ kind, role }) => kind === "text" && role === "assistant");
    const linesAhead = [...calls.filter(({ name }) => name !== "TodoWrite"), ...said].flatMap((entry) =>
      linesOf(entryText(entry)),
    );
    const lines = new Set(linesAhead.filter((line) => seenLines.has(line) && !common.has(line)));
    const symbols = new Set(
      calls.flatMap((entry) => symbolsOf(entryText(entry))).filter((symbol) => seenSymbols.has(symbol)),
    );
    return {
      cut,
      files: cut.gold,
      symbols: symbols.size >= SYMBOLS_MIN ? symbols : undefined,
      lines: lines.size >= LINES_MIN ? lines : undefined,
    };
  });
}
