import Database from "better-sqlite3";
import { searchStem } from "../../src/models/search-words.ts";
import { isStopWord } from "../../src/models/stop-words.ts";
import { idfOf, saturate } from "../../src/recall/bm25.ts";
import type { Corpus } from "./recall-data.ts";

/** A message that a baseline found. */
interface Found {
  id: string;
  sessionId: string;
}

/**
 * Returns a plain search: an FTS5 table of the messages, and the words of the question joined by OR.
 *
 * @param isLeftOut  Words that are not searched.
 */
export function plainFts5(
  { sessions }: Corpus,
  isLeftOut: (word: string) => boolean = isStopWord,
): (question: string, limit: number) => Found[] {
  const database = new Database(":memory:");
  database.exec("CREATE VIRTUAL TABLE corpus USING fts5(id UNINDEXED, session UNINDEXED, text, tokenize = 'porter')");
  const insert = database.prepare("INSERT INTO corpus VALUES (?, ?, ?)");
  database.transaction(() => {
    for (const { id, messages } of sessions) for (const message of messages) insert.run(message.id, id, message.text);
  })();
  const search = database.prepare<[string, number], Found>(
    "SELECT id, session AS sessionId FROM corpus WHERE corpus MATCH ? ORDER BY rank LIMIT ?",
  );
  return (question, limit) => {
    const words = wordsOf(question, isLeftOut);
    if (words.length === 0) return [];
    return search.all(words.map((word) => `"${word}"`).join(" OR "), limit);
  };
}

/** Returns a search by BM25 in which the words of users count several times, as most questions are about what users said. */
export function bm25OfUsers({ sessions }: Corpus, factor: number): (question: string) => Found[] {
  const messages = sessions.flatMap(({ id: sessionId, messages }) =>
    messages.map((message) => ({ ...message, sessionId })),
  );
  const score = bm25(messages.map(({ text }) => stemsOf(text)));
  return (question) => {
    const scores = score(stemsOf(question)).map((own, at) => own * (messages[at]!.input.role === "user" ? factor : 1));
    const found = messages.map((_, at) => at).filter((at) => scores[at]! > 0);
    return found.sort((left, right) => scores[right]! - scores[left]!).map((at) => messages[at]!);
  };
}

/** Returns a function that scores every document for the stems of a question. */
export function bm25(documents: readonly (readonly string[])[]): (asked: readonly string[]) => number[] {
  const lengthMean = documents.reduce((sum, { length }) => sum + length, 0) / documents.length;
  const postings = new Map<string, Map<number, number>>();
  documents.forEach((stems, at) => {
    for (const stem of stems) {
      const counts = postings.get(stem) ?? new Map<number, number>();
      postings.set(stem, counts.set(at, (counts.get(at) ?? 0) + 1));
    }
  });
  return (asked) => {
    const scores = documents.map(() => 0);
    for (const stem of new Set(asked)) {
      const counts = postings.get(stem) ?? new Map<number, number>();
      const idf = idfOf(counts.size, documents.length);
      for (const [at, count] of counts) scores[at]! += idf * saturate(count, documents[at]!.length / lengthMean);
    }
    return scores;
  };
}

export function stemsOf(text: string): string[] {
  return wordsOf(text).map(searchStem);
}

function wordsOf(text: string, isLeftOut: (word: string) => boolean = isStopWord): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !isLeftOut(word));
}
