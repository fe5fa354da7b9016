import type { Store } from "../../../src/index.ts";
import { sessionIds } from "../../../src/session/aids/session-ids.ts";

/** A read of a store, and a name for it that says what it reads. */
export interface Question {
  name: string;
  ask: (store: Store) => unknown;
}

/** The answer to a question: JSON, or the code of the error. Any other failure is untyped. */
export type Answer = { json: string } | { code: string } | { untyped: string };

const QUERIES = [
  "What did we decide about the session lock?",
  "tide table of the harbor",
  '"the electrician found salt"',
  "invoice of the paint dealer",
  "Which call failed with an error?",
];

/** Of the messages at such seqs, a word is recalled. */
const RECALLED_SEQS = 16;

const RECAP_SINCE_MS = Date.UTC(2026, 0, 5, 2);

/** Returns the reads of a store that must give the right answer or an error of ours. The store is undamaged. */
export function questionsOf(store: Store): Question[] {
  const questions: Question[] = [
    { name: "sessions", ask: (from) => from.sessions() },
    { name: "sessions of a project", ask: (from) => from.sessions({ project: "grove", limit: 3 }) },
    { name: "sessionIds", ask: (from) => sessionIds(from) },
    { name: "subjects", ask: (from) => from.subjects() },
    ...store.subjects().flatMap(({ subject }) => [
      { name: "subject", ask: (from: Store) => from.subject(subject) },
      { name: "expand subject", ask: (from: Store) => from.expand(subject) },
    ]),
    { name: "recap", ask: (from) => from.recap({ sinceMs: 0 }) },
    { name: "recap of a time", ask: (from) => from.recap({ sinceMs: RECAP_SINCE_MS, project: "grove" }) },
    { name: "export", ask: (from) => [...from.export()] },
    {
      name: "export rows",
      ask: (from) => [...from.export({ rows: true, sessions: ["ash", "cedar"] })].slice(0, -1).map(withoutVectors),
    },
    { name: "items", ask: (from) => from.items.list([]) },
    { name: "item", ask: (from) => from.items.get(["grove", "ash"], "state") },
    { name: "namespaces", ask: (from) => from.items.namespaces() },
    ...QUERIES.map((query) => ({ name: `recall ${query}`, ask: (from: Store) => from.recall(query, { limit: 10 }) })),
    { name: "nearestRoots", ask: (from) => from.nearestRoots("tide table of the harbor") },
    ...recallsOf(store),
  ];
  for (const { id, messageCount } of store.sessions()) {
    questions.push({ name: "roots", ask: (from) => from.resume(id).roots() });
    questions.push({ name: "info", ask: (from) => from.resume(id).info() });
    questions.push({ name: "newest", ask: (from) => from.resume(id).messages({ last: 1 })[0] });
    questions.push({ name: "branches", ask: (from) => from.resume(id).branches() });
    questions.push({ name: "entries", ask: (from) => from.resume(id).entries.list() });
    questions.push({ name: "pressure", ask: (from) => from.resume(id).pressure({ tokensMax: 3_000 }) });
    for (let seqFrom = 0; seqFrom < messageCount; seqFrom += 10) {
      questions.push({ name: "messages", ask: (from) => from.resume(id).messages({ seqFrom, limit: 10 }) });
    }
    for (const strategy of ["union-find", "flat", "sandwich", "full"] as const) {
      for (const tokensMax of [1_500, 6_000]) {
        questions.push({
          name: `render ${strategy}`,
          ask: (from) => from.resume(id).render({ strategy, tokensMax }),
        });
      }
    }
    questions.push({ name: "render with a query", ask: (from) => from.resume(id).render({ query: QUERIES[1]! }) });
    for (const level of ["theme", "cluster"] as const) {
      for (const { root } of store.resume(id).roots({ level })) {
        questions.push({ name: "expand", ask: (from) => from.expand(root) });
      }
    }
    for (const { id: messageId, seq } of store.resume(id).messages()) {
      if (seq % 4 > 0) continue;
      questions.push({ name: "expand message", ask: (from) => from.expand(messageId) });
      questions.push({ name: "expand step", ask: (from) => from.expand(messageId, { level: "step" }) });
    }
    for (const handle of earlierHandles(store, id)) {
      questions.push({ name: "expand earlier", ask: (from) => from.expand(handle) });
    }
  }
  return questions;
}

/** Recalls of words that messages have. */
function recallsOf(store: Store): Question[] {
  const messages = store.sessions().flatMap(({ id }) => store.resume(id).messages());
  const recalled = messages.filter(({ seq }) => seq % RECALLED_SEQS === RECALLED_SEQS / 4);
  return recalled.map(({ text }) => {
    const [word = ""] = (text.match(/[a-z]+/g) ?? []).sort((left, right) => right.length - left.length);
    return { name: "recall a word", ask: (from: Store) => from.recall(word, { limit: 10 }) };
  });
}

/** Handles of clusters and themes of a session as they were halfway through its log, and before messages were superseded. */
function earlierHandles(store: Store, id: string): string[] {
  const rows =
    store.query(`SELECT level, root, (SELECT max(id) FROM unions WHERE session_id = '${id}') AS newest, max(id) AS position FROM (
    SELECT id, level, root, session_id FROM unions UNION ALL SELECT id, level, root, session_id FROM undone_unions)
    WHERE session_id = '${id}' AND level <> 'subject' GROUP BY level, root ORDER BY position`);
  return rows.map(({ level, root, position }) => `${level}:${root}@${position}`);
}

/** Only `verify` checks vectors: it compares them with the clusters. The last line, which is left out, has a digest of all. */
function withoutVectors(line: string): string {
  return line.replace(/"(embedding|vector|centroid)":\{"base64":"[^"]*"\}/g, "");
}
