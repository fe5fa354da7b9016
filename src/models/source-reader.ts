import { filesIn, parseFilesLine, WorkingSet } from "../core/working-set.ts";
import { excerpt } from "./lines.ts";
import { FILE_WEIGHT } from "./notes.ts";
import type { Pace } from "./pace.ts";
import { firstLineOf, type Statement, statementOfLine, statementsOf } from "./statements.ts";
import type { SummarizeRequest } from "./summarizer.ts";

/** If no message has a statement, the first line with words is looked for in this many characters. */
const FIRST_LINE_CHARS = 1_000;

/** The weight of the first file of an earlier summary. It falls to 0 for the last. */
const PREVIOUS_FILE_WEIGHT = 2;
const FILES_PER_OUTPUT_MAX = 20;
/** Lines of earlier summaries cost this share of their length. At full cost, each summary would lose about half of the oldest lines. */
const PREVIOUS_COST_FACTOR = 0.5;

export interface Reading {
  /** In order, earlier summaries first. */
  statements: Statement[];
  /** Heaviest first. */
  files: string[];
  /** The number of messages without words. It is only used if no message has words. */
  wordlessCount: number;
  /** The tokens of everything read. Counting stops at `tokensMax`. */
  tokenCount: number;
}

export function wordlessLine(count: number): string {
  return count === 1 ? "1 message without words" : `${count} messages without words`;
}

export async function readSources(request: SummarizeRequest, pace: Pace): Promise<Reading> {
  const { previous, sources, tokensMax, countTokens } = request;
  const statements: Statement[] = [];
  let tokenCount = 0;
  const files = new WorkingSet();
  let wordlessCount = sources.length;

  for (const { text } of previous) {
    if (tokenCount < tokensMax) tokenCount += countTokens(text);
    for (const line of text.split("\n")) {
      const wordless = /^(\d+) messages? without words$/.exec(line);
      const listed = parseFilesLine(line);
      if (wordless !== null) wordlessCount += Number(wordless[1]);
      else if (listed !== undefined) {
        for (const [index, path] of listed.entries())
          files.add(path, PREVIOUS_FILE_WEIGHT * (1 - index / listed.length));
      } else if (line.trim() !== "") statements.push({ ...statementOfLine(line), costFactor: PREVIOUS_COST_FACTOR });
    }
    await pace.worked(text.length);
  }

  for (const [index, source] of sources.entries()) {
    const text = excerpt(source.text);
    if (tokenCount < tokensMax) tokenCount += countTokens(text);
    const nextRole = sources[index + 1]?.role;
    statements.push(...statementsOf({ ...source, text }, nextRole !== "assistant" && nextRole !== "tool"));
    const recency = 0.5 + (0.5 * (index + 1)) / sources.length;
    const named = filesIn(text);
    for (const path of source.role === "tool" ? named.slice(0, FILES_PER_OUTPUT_MAX) : named) {
      files.add(path, FILE_WEIGHT[source.role] * recency);
    }
    await pace.worked(text.length);
  }
  const ranked = files.ranked();
  if (statements.length === 0 && ranked.length === 0) {
    for (const source of sources) {
      statements.push(...firstLineOf({ ...source, text: source.text.slice(0, FIRST_LINE_CHARS) }));
      await pace.worked(Math.min(source.text.length, FIRST_LINE_CHARS));
    }
  }
  return { statements, files: ranked, wordlessCount, tokenCount };
}
