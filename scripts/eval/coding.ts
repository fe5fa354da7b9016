import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openStore, type RecallHit, type Store } from "../../src/index.ts";
import { noteOnHits } from "../../src/session/aids/recall-notes.ts";
import { inFolder } from "./folder.ts";
import { FOREIGN_QUESTIONS } from "./foreign-questions.ts";
import { plainFts5 } from "./recall-baseline.ts";
import { type Corpus, entireInput, readEntireSessions } from "./recall-data.ts";

/** The number of hits among which the first answer is looked for. */
const LIMIT = 100;

interface CodingQuestion {
  question: string;
  session: string;
  /** Indexes into the messages of the session. */
  gold: number[];
}

interface Found {
  id: string;
  sessionId: string;
}

/** A question with the ids of all messages that say the same as an answer, and the sessions that hold one. */
export interface AskedOfWork {
  text: string;
  sid: string;
  gold: ReadonlySet<string>;
  sessions: ReadonlySet<string>;
}

/** Reads the sessions of `entire/`, every message of them, and the questions of `coding/`. */
export function readCoding(dataFolder: string): { corpus: Corpus; asked: AskedOfWork[] } | undefined {
  const file = join(dataFolder, "coding", "questions.json");
  const sessions = readEntireSessions(dataFolder).map(({ sid, messages }) => ({
    id: sid,
    messages: messages.map((entry, index) => ({ id: `${sid}:${index}`, input: entireInput(entry), text: entry.text })),
  }));
  if (!existsSync(file) || sessions.length === 0) return undefined;
  const all = sessions.flatMap(({ id: sessionId, messages }) =>
    messages.map(({ id, text }) => ({ id, text, sessionId })),
  );
  const textOf = new Map(all.map(({ id, text }) => [id, text]));
  const asked = (JSON.parse(readFileSync(file, "utf8")) as CodingQuestion[]).map(({ question, session, gold }) => {
    const texts = new Set(gold.map((index) => textOf.get(`${session}:${index}`)!));
    const answers = all.filter(({ text }) => texts.has(text));
    return {
      text: question,
      sid: session,
      gold: new Set(answers.map(({ id }) => id)),
      sessions: new Set(answers.map(({ sessionId }) => sessionId)),
    };
  });
  return { corpus: { project: "entire", sessions, questions: [] }, asked };
}

/** Stores all sessions. Returns the names of the messages by their ids. */
export async function storeCoding(store: Store, { project, sessions }: Corpus): Promise<Map<number, string>> {
  const names = new Map<number, string>();
  for (const { id, messages } of sessions) {
    const results = store.session(id, { project }).append(messages.map(({ input }) => input));
    results.forEach(({ messageId }, index) => void names.set(messageId, messages[index]!.id));
  }
  await store.upkeep();
  return names;
}

/**
 * Measures how well recall answers what people ask of their coding sessions weeks later, beside a plain FTS5 table of the messages.
 * A message that says the same as an answer, word for word, is an answer: resumed sessions repeat earlier ones.
 *
 * Figures in percent: `coding.any@K`, the questions with an answer among the first K hits; `.mrr`, one over the rank of the first
 * answer among 100 hits; `.session@K`, the questions for which a session with an answer is among the first K sessions of the hits; and
 * the same as `coding.fts5.*`.
 *
 * `coding.doubted`, `coding.foreign.doubted`: the share of these questions, and of questions about other projects, for which recall says
 * that no message is near. `coding.superseded`: the share of these questions with a hit that is said to be superseded. Hardly any asks
 * for what was changed, so most of these marks are wrong.
 *
 * @param dataFolder  The folder with `coding/` and `entire/`.
 */
export async function evaluateCoding(dataFolder: string): Promise<{ name: "coding"; figures: Record<string, number> }> {
  const data = readCoding(dataFolder);
  if (data === undefined) throw new Error(`No coding/questions.json and entire/sessions.jsonl.gz in ${dataFolder}.`);
  const { corpus, asked } = data;
  const fts5 = plainFts5(corpus, () => false); // with every word of the question, it finds most
  const plain = asked.map(({ text }) => fts5(text, LIMIT));
  const found: Found[][] = [];
  const doubted: boolean[] = [];
  const superseded: boolean[] = [];
  const foreignDoubted: boolean[] = [];
  await inFolder(async (folder) => {
    const store = openStore(join(folder, "coding.db"));
    const names = await storeCoding(store, corpus);
    for (const { text } of asked) {
      const hits = await store.recall(text, { project: corpus.project, limit: LIMIT, neighbors: 0 });
      doubted.push(isDoubted(hits));
      superseded.push(hits.some(({ supersededBy }) => supersededBy !== undefined));
      found.push(hits.map(({ messageId, sessionId }) => ({ id: names.get(messageId)!, sessionId })));
    }
    for (const text of FOREIGN_QUESTIONS)
      foreignDoubted.push(isDoubted(await store.recall(text, { project: corpus.project })));
    store.close();
  });
  return {
    name: "coding",
    figures: {
      ...codingFigures("coding.", asked, found),
      ...codingFigures("coding.fts5.", asked, plain),
      "coding.doubted": share(doubted),
      "coding.superseded": share(superseded),
      "coding.foreign.doubted": share(foreignDoubted),
    },
  };
}

/** Returns true if recall says that nothing is near, or finds nothing. */
function isDoubted(hits: readonly RecallHit[]): boolean {
  return hits.length === 0 || noteOnHits(hits)?.startsWith("No message has ") === true;
}

function share(values: readonly boolean[]): number {
  return Number(((100 * values.filter(Boolean).length) / values.length).toFixed(1));
}

/** Returns the figures of questions by what was found for each, best first. @see evaluateCoding */
export function codingFigures(
  prefix: string,
  asked: readonly AskedOfWork[],
  found: readonly (readonly Found[])[],
): Record<string, number> {
  const ranks = asked.map(({ gold }, index) => found[index]!.findIndex(({ id }) => gold.has(id)));
  const sessionRanks = asked.map(({ sessions }, index) =>
    [...new Set(found[index]!.map(({ sessionId }) => sessionId))].findIndex((id) => sessions.has(id)),
  );
  const mean = (values: readonly number[]): number =>
    Number(((100 * values.reduce((sum, value) => sum + value, 0)) / values.length).toFixed(1));
  const within = (ranks: readonly number[], k: number): number =>
    mean(ranks.map((rank) => Number(rank >= 0 && rank < k)));
  return Object.fromEntries([
    ...[1, 3, 5, 10].map((k) => [`${prefix}any@${k}`, within(ranks, k)]),
    [`${prefix}mrr`, mean(ranks.map((rank) => (rank < 0 ? 0 : 1 / (rank + 1))))],
    ...[1, 5].map((k) => [`${prefix}session@${k}`, within(sessionRanks, k)]),
  ]);
}
