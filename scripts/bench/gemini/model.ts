import { estimatingTokenCounter } from "../../../src/core/tokens.ts";
import { elementsOf } from "../../../test/support/gemini-model.ts";
import type { GeminiBody, RecordedRequest } from "../../../test/support/gemini-server.ts";

/** The tokens of a reply to enough text: a paragraph of about 150 words. */
const SAID_TOKENS = 200;

/** The tokens of one statement of a reply. */
const STATEMENT_TOKENS = 25;

/** The tokens of calls by the store's counter: everything sent, including instructions and schema, and everything received. */
export interface Tally {
  calls: number;
  sentTokens: number;
  receivedTokens: number;
}

export function emptyTally(): Tally {
  return { calls: 0, sentTokens: 0, receivedTokens: 0 };
}

/**
 * Returns a model whose replies have a fixed length: statements of 25 tokens, copied in turn from all given texts, until they
 * have 200 tokens. Adds the tokens of each call to the tally.
 */
export function tallyingModel(tally: Tally): (request: RecordedRequest) => string {
  return ({ body }) => {
    const reply = answer(promptOf(body));
    tally.calls += 1;
    tally.sentTokens += sentTokens(body);
    tally.receivedTokens += count(reply);
    return reply;
  };
}

function answer(prompt: string): string {
  const given = elementsOf(prompt).map(({ seq, text }) => ({ seq, words: text.split(/\s+/) }));
  const summary: { text: string; seqs: number[] }[] = [];
  const statements = Math.ceil(SAID_TOKENS / STATEMENT_TOKENS);
  for (let round = 0; summary.length < statements && round < statements; round++) {
    for (const { seq, words } of evenly(given, statements)) {
      const text = words.slice(round * WORDS, (round + 1) * WORDS).join(" ");
      if (summary.length < statements && /[\p{L}\p{N}]/u.test(text)) {
        summary.push({ text: beginning(text), seqs: seq === undefined ? [] : [seq] });
      }
    }
  }
  const empty = { decisions: [], openQuestions: [], identifiers: [], files: [] };
  return JSON.stringify({ summary, ...empty, title: summary[0]?.text.split(" ").slice(0, 6).join(" ") ?? "" });
}

const WORDS = 18;

/** Returns the longest head of whole words that costs no more than a statement. */
function beginning(text: string): string {
  const words = text.split(" ");
  while (words.length > 1 && count(words.join(" ")) > STATEMENT_TOKENS) words.pop();
  return words.join(" ").slice(0, 4 * STATEMENT_TOKENS);
}

/** Returns at most `length` of the items, evenly spread. */
function evenly<T>(items: readonly T[], length: number): T[] {
  if (items.length <= length) return [...items];
  return Array.from({ length }, (_, index) => items[Math.floor((index * items.length) / length)]!);
}

function sentTokens({ systemInstruction, contents, generationConfig = {} }: GeminiBody): number {
  const texts = [systemInstruction, ...(contents ?? [])].flatMap((content) => content?.parts ?? []);
  const schema = generationConfig.responseJsonSchema ?? generationConfig.responseSchema ?? null;
  return texts.reduce((sum, { text = "" }) => sum + count(text), count(JSON.stringify(schema)));
}

function promptOf({ contents = [] }: GeminiBody): string {
  return contents.flatMap(({ parts }) => parts.map(({ text = "" }) => text)).join("\n");
}

function count(text: string): number {
  return estimatingTokenCounter.count(text);
}
