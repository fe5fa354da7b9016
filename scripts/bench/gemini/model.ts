import { estimatingTokenCounter } from "../../../src/core/tokens.ts";
import { elementsOf } from "../../../test/support/gemini-model.ts";
import type { GeminiBody, RecordedRequest } from "../../../test/support/gemini-server.ts";

/** Tokens that the model says where it has been told as much: a paragraph of about 150 words. */
const SAID_TOKENS = 200;

/** Shares of that for what stood in earlier summaries and for new messages: a memory that only added would not stay short. */
const STATEMENT_TOKENS = 25;

/** What calls have cost, by the store's counter: all that was sent, our instructions and the schema included, and what came back. */
export interface Tally {
  calls: number;
  sentTokens: number;
  receivedTokens: number;
}

export function emptyTally(): Tally {
  return { calls: 0, sentTokens: 0, receivedTokens: 0 };
}

/**
 * A model that always says about as much: statements of 25 tokens, copied from everything it was given in turn, until they
 * are 200 tokens. What it costs is added to the tally.
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

/** The longest beginning of whole words that costs no more than a statement. */
function beginning(text: string): string {
  const words = text.split(" ");
  while (words.length > 1 && count(words.join(" ")) > STATEMENT_TOKENS) words.pop();
  return words.join(" ").slice(0, 4 * STATEMENT_TOKENS);
}

/** At most `length` of the items, spread over all of them. */
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
