import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";

/** What stands in the elements of a prompt, as a model would read it. */
export interface PromptElement {
  name: "message" | "summary";
  seq: number | undefined;
  text: string;
}

/** The elements of a prompt. Text that broke out of one would show up here as another. */
export function elementsOf(prompt: string): PromptElement[] {
  return [...prompt.matchAll(/<(message|summary)([^>]*)>\n([\s\S]*?)\n<\/\1>/g)].map(([, name, attributes, text]) => {
    const [, seq] = / seq="(\d+)"/.exec(attributes!) ?? [];
    return { name: name as PromptElement["name"], seq: seq === undefined ? undefined : Number(seq), text: text! };
  });
}

/**
 * The answer of a model that does what it is asked, as JSON: the first line with words of every message, cut to 200 characters,
 * and of every earlier summary each line with what it cites.
 */
export function answerTo(prompt: string): string {
  const summary = elementsOf(prompt).flatMap(({ seq, text }) => {
    const lines = text.split("\n").filter((line) => /[\p{L}\p{N}]/u.test(line));
    const told = seq === undefined ? lines : lines.slice(0, 1);
    return told.map((line) => ({ text: line.slice(0, 200), seqs: seq === undefined ? [] : [seq] }));
  });
  const [first] = summary;
  const empty = { decisions: [], openQuestions: [], identifiers: [], files: [] };
  return JSON.stringify({ summary, ...empty, title: first?.text.slice(0, 40) ?? "" });
}

/** Cosine of two texts without a common word: vectors of real models fill a narrow cone. */
const BASE_COSINE = 0.62;
/** As the service's are that are cut to fewer dimensions: not of unit length. */
const LENGTH = 0.8;
/** What tells a document or a query from a bare text. */
const TASK = /^(?:title: none \| text|task: search result \| query): /;

/**
 * The vector of a model to which texts are near that share words, and none is far: the cosine of two texts is 0.62 and the
 * rest in proportion to that of their words. The same for the same text, as a document and as a query.
 */
export function vectorOf(text: string, dimension = 3_072): number[] {
  const values = new Array<number>(dimension).fill(0);
  const words = hashingEmbedder.embed(text.replace(TASK, "")) ?? [];
  // Fewer dimensions than words have fold over one another.
  for (const [index, value] of words.entries()) values[1 + (index % (dimension - 1))]! += value;
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  const scale = length === 0 ? 0 : (Math.sqrt(1 - BASE_COSINE) * LENGTH) / length;
  return [Math.sqrt(BASE_COSINE) * LENGTH, ...values.slice(1).map((value) => value * scale)];
}
