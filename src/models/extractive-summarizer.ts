import { TITLE_CHARS_MAX } from "../core/ends.ts";
import type { Role } from "../core/message.ts";
import { filesLine } from "../core/working-set.ts";
import { type CoverageItem, selectByCoverage } from "./coverage.ts";
import { beginningThatFits, cutLine } from "./lines.ts";
import { Pace } from "./pace.ts";
import { readSources, wordlessLine } from "./source-reader.ts";
import { lineOf, type Statement } from "./statements.ts";
import type { SummarizeRequest, Summarizer, SummaryText } from "./summarizer.ts";
import { titleOf } from "./title.ts";
import { forEachWord } from "./words.ts";

/** If there are more statements, the least valuable are left out. */
const STATEMENTS_MAX = 1_000;
const LINE_CHARS_MAX = 240;
const USER_LINE_CHARS_MAX = 360;
const LINE_CHARS_MIN = 60;
/** A line costs this in addition to its length, because of its prefix, and because it is one more thing to read. */
const LINE_COST_CHARS = 40;
/** A line must gain more than this. A line of the model gains about as much by one new name. */
const GAIN_MIN = 0.05;
/** The list of files may take this share of the summary, unless there are no statements. */
const FILES_SHARE = 0.35;
const FILES_MAX = 40;
const TITLE_FILES_MAX = 5;
const REFUSALS_MAX = 20;

const HAS_WORDS = /[\p{L}\p{N}]/u;

/** The weight of a term in a line. A piece of a name counts little, because its name is there too. */
const TERM_WEIGHT = { whole: 2, word: 1, gram: 0.5, piece: 0.3 };
/** A term's weight stops growing at this number of lines, so that a common topic does not hide a rare one. */
const TERM_COUNT_MAX = 25;

export const EXTRACTIVE_ID = "extractive";

/**
 * Creates a summarizer that needs no model. It selects statements and changes only their white space and length.
 *
 * Messages are split into statements, which are weighed by their kind (`statements.ts`) and chosen to cover the terms of the
 * conversation (`coverage.ts`). The text has one statement per line, in order. A line that is not the model's starts with a
 * name, `user:` or `tool:`. The last line, `files: …`, lists the files that were worked on. Lines of earlier summaries compete
 * with new statements.
 *
 * The text costs at most `tokensMax` by `countTokens`, and never more than its sources. If no whole line fits, it is the
 * beginning of the best line, or empty. Messages without words are only counted. The result is deterministic.
 */
export function extractiveSummarizer(): Summarizer {
  return { id: EXTRACTIVE_ID, promptVersion: 1, isLocal: true, summarize };
}

async function summarize(request: SummarizeRequest): Promise<SummaryText> {
  const { countTokens } = request;
  const pace = new Pace(request.signal);
  const reading = await readSources(request, pace);
  const statements = mostValuable(reading.statements);
  if (statements.length === 0 && reading.files.length === 0) {
    // This text may be longer than its sources, because an empty text would say that there were no messages.
    const line = wordlessLine(reading.wordlessCount);
    const text = beginningThatFits(line, LINE_CHARS_MAX, (beginning) => countTokens(beginning) <= request.tokensMax);
    return { title: line, text };
  }

  const tokensMax = Math.min(request.tokensMax, reading.tokenCount);
  const fits = (text: string) => countTokens(text) <= tokensMax;
  const { lines, items, weights } = await linesOf(statements, request.tokensMax, pace);
  const filesMax = statements.length > 0 ? tokensMax * FILES_SHARE : tokensMax;
  const files = filesThatFit(reading.files, (line) => countTokens(line) <= filesMax);

  const chosen: number[] = []; // best first
  const textWith = (more: readonly number[]) => {
    const ordered = inOrder([...chosen, ...more]).map((index) => lines[index]!);
    return (files === "" ? ordered : [...ordered, files]).join("\n");
  };
  let tokens = countTokens(files);
  let best: number | undefined;
  selectByCoverage(items, weights, { gainMin: GAIN_MIN, refusalsMax: REFUSALS_MAX }, (index) => {
    best ??= index;
    // The sum of the lines is quick but inexact. The whole text is counted before a line is refused.
    let sum = tokens + countTokens(lines[index]!) + 1;
    if (sum > tokensMax) sum = countTokens(textWith([index]));
    if (sum > tokensMax) return false;
    tokens = sum;
    chosen.push(index);
    return true;
  });
  while (chosen.length > 0 && !fits(textWith([]))) chosen.pop();

  const told = chosen.length > 0 ? inOrder(chosen).map((index) => statements[index]!) : statements;
  return { title: titleOfLines(told, reading.files), text: textWith([]) || oneThatFits() };

  /** Returns the best statement, cut and without its speaker if necessary, or else one file. */
  function oneThatFits(): string {
    const line = lines[best ?? 0] ?? filesLine(reading.files.slice(0, 1));
    return fits(line) ? line : beginningThatFits(statements[best ?? 0]?.text ?? line, LINE_CHARS_MAX, fits);
  }
}

function inOrder(indexes: readonly number[]): number[] {
  return indexes.toSorted((a, b) => a - b);
}

/** Returns the last statement of each key, in order, if it has words. If there are too many, keeps the most valuable ones. */
function mostValuable(statements: readonly Statement[]): Statement[] {
  const last = new Map<string, Statement>();
  for (const statement of statements) {
    if (!HAS_WORDS.test(statement.text)) continue;
    last.delete(statement.key);
    last.set(statement.key, statement);
  }
  const distinct = [...last.values()];
  if (distinct.length <= STATEMENTS_MAX) return distinct;
  const valueMin = Float64Array.from(distinct, ({ value }) => value)
    .sort()
    .at(-STATEMENTS_MAX)!;
  let ties = STATEMENTS_MAX - distinct.filter(({ value }) => value > valueMin).length;
  const newestFirst = distinct
    .toReversed()
    .filter(({ value }) => value > valueMin || (value === valueMin && ties-- > 0));
  return newestFirst.reverse();
}

function lineCharsMax({ speaker }: Statement, tokensMax: number): number {
  const charsMax = speaker === "user" ? USER_LINE_CHARS_MAX : LINE_CHARS_MAX;
  // One line must not fill a small summary.
  return Math.max(LINE_CHARS_MIN, Math.min(charsMax, tokensMax));
}

/** Returns each statement's line and terms, and each term's weight, which grows sublinearly with the number of its lines. */
async function linesOf(statements: readonly Statement[], tokensMax: number, pace: Pace) {
  const lines: string[] = [];
  const ids = new Map<string, number>();
  const kindWeights: number[] = [];
  const counts: number[] = [];
  const items: CoverageItem[] = [];
  for (const statement of statements) {
    const line = cutLine(lineOf(statement), lineCharsMax(statement, tokensMax));
    const terms = new Set<number>();
    forEachWord(line.slice(lineOf(statement).length - statement.text.length), (word, kind) => {
      const id = ids.get(word) ?? ids.size;
      if (id === ids.size) {
        ids.set(word, id);
        kindWeights.push(TERM_WEIGHT[kind]);
        counts.push(0);
      }
      terms.add(id);
    });
    for (const id of terms) counts[id]!++;
    lines.push(line);
    items.push({
      terms: [...terms],
      value: statement.value,
      cost: (line.length + LINE_COST_CHARS) * statement.costFactor,
    });
    await pace.worked(line.length);
  }
  return {
    lines,
    items,
    weights: counts.map((count, id) => kindWeights[id]! * (Math.sqrt(Math.min(count, TERM_COUNT_MAX)) - 0.5)),
  };
}

function filesThatFit(files: readonly string[], fits: (line: string) => boolean): string {
  let line = "";
  for (let count = 1; count <= Math.min(files.length, FILES_MAX); count++) {
    const longer = filesLine(files.slice(0, count));
    if (!fits(longer)) break;
    line = longer;
  }
  return line;
}

function titleOfLines(statements: readonly Statement[], files: readonly string[]): string {
  const messages = statements.map(({ speaker, text }) => ({ role: roleOf(speaker), text }));
  if (files.length > 0) messages.push({ role: "assistant", text: files.slice(0, TITLE_FILES_MAX).join(", ") });
  return titleOf(messages) || cutLine(statements[0]?.text ?? files[0] ?? "", TITLE_CHARS_MAX);
}

function roleOf(speaker: string | undefined): Role {
  if (speaker === "tool") return speaker;
  return speaker === undefined || speaker === "call" || speaker === "todo" ? "assistant" : "user";
}
