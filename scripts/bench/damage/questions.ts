import type { Store } from "../../../src/index.ts";

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

/** Returns the reads of a store that must give the right answer or an error of ours. The store is undamaged. */
export function questionsOf(store: Store): Question[] {
  const questions: Question[] = [
    { name: "sessions", ask: (from) => from.sessions() },
    { name: "sessionIds", ask: (from) => from.sessionIds({ prefix: "" }) },
    { name: "subjects", ask: (from) => from.subjects() },
    ...store.subjects().map(({ subject }) => ({ name: "subject", ask: (from: Store) => from.subject(subject) })),
    { name: "recap", ask: (from) => from.recap({ sinceMs: 0 }) },
    { name: "export", ask: (from) => [...from.export()] },
    ...QUERIES.map((query) => ({ name: `recall ${query}`, ask: (from: Store) => from.recall(query, { limit: 10 }) })),
    { name: "nearestRoots", ask: (from) => from.nearestRoots("tide table of the harbor") },
  ];
  for (const { id, messageCount } of store.sessions()) {
    questions.push({ name: "roots", ask: (from) => from.resume(id).roots() });
    questions.push({ name: "info", ask: (from) => from.resume(id).info() });
    questions.push({ name: "newest", ask: (from) => from.resume(id).newest() });
    questions.push({ name: "branches", ask: (from) => from.resume(id).branches() });
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
    for (const { id: messageId } of store.resume(id).messages({ limit: 3 })) {
      questions.push({ name: "find", ask: (from) => from.find(messageId) });
    }
  }
  return questions;
}
