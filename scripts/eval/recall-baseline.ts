import Database from "better-sqlite3";
import { isStopWord } from "../../src/models/stop-words.ts";
import type { Corpus } from "./recall-data.ts";

/** Returns a plain search: an FTS5 table of the messages, and the words of the question joined by OR. */
export function plainFts5({
  sessions,
}: Corpus): (question: string, limit: number) => { id: string; sessionId: string }[] {
  const database = new Database(":memory:");
  database.exec("CREATE VIRTUAL TABLE corpus USING fts5(id UNINDEXED, session UNINDEXED, text, tokenize = 'porter')");
  const insert = database.prepare("INSERT INTO corpus VALUES (?, ?, ?)");
  database.transaction(() => {
    for (const { id, messages } of sessions) for (const message of messages) insert.run(message.id, id, message.text);
  })();
  const search = database.prepare<[string, number], { id: string; sessionId: string }>(
    "SELECT id, session AS sessionId FROM corpus WHERE corpus MATCH ? ORDER BY rank LIMIT ?",
  );
  return (question, limit) => {
    const words = (question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !isStopWord(word));
    if (words.length === 0) return [];
    return search.all(words.map((word) => `"${word}"`).join(" OR "), limit);
  };
}
