import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Message, type MessageInput, type RecallOptions, StoreError } from "../../src/index.ts";
import { searchStem, searchWords } from "../../src/models/search-words.ts";
import { expectSeen, runs, seenInRuns } from "../support/effort.ts";
import { nastyMessage, nastyText } from "../support/message-arbitraries.ts";
import { inFolderAsync, openFresh } from "../support/temporary-store.ts";

const WORDS = "lock region deploy café src/fooBar.ts retry session セッション 404 tower lens glass".split(" ");
const SENTENCES = [
  "The deploy fails because the region has no lock file in its bucket today.",
  "A retry of the deploy takes the session lock away from its owner.",
  "Glass for the lens of the tower costs more than its doors and windows.",
];
const SESSIONS = ["a", "b", "c"];
const DAY_MS = 86_400_000;

const words = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 6 }).map((some) => some.join(" "));

interface Said {
  session: string;
  message: MessageInput;
}

const said: fc.Arbitrary<Said> = fc.record({
  session: fc.constantFrom(...SESSIONS),
  message: fc.record({
    role: fc.constantFrom("user" as const, "assistant" as const, "system" as const),
    content: fc.oneof(words, fc.constantFrom(...SENTENCES)),
    createdAt: fc.integer({ min: 0, max: 9 }).map((day) => day * DAY_MS),
  }),
});

const scope: fc.Arbitrary<RecallOptions> = fc.record(
  {
    project: fc.constantFrom("first", "second"),
    sessionIds: fc.subarray(SESSIONS),
    roles: fc.subarray(["user" as const, "assistant" as const, "system" as const]),
    sinceMs: fc.integer({ min: 0, max: 9 }).map((day) => day * DAY_MS),
    untilMs: fc.integer({ min: 0, max: 9 }).map((day) => day * DAY_MS),
  },
  { requiredKeys: [] },
);

const projectOf = (session: string): string => (session === "a" ? "first" : "second");

function isInScope({ sessionId, role, createdAtMs }: Message, options: RecallOptions): boolean {
  const { project, sessionIds, roles, sinceMs, untilMs } = options;
  return (
    (project === undefined || project === projectOf(sessionId)) &&
    (sessionIds === undefined || sessionIds.includes(sessionId)) &&
    (roles === undefined || roles.includes(role)) &&
    (sinceMs === undefined || createdAtMs >= sinceMs) &&
    (untilMs === undefined || createdAtMs <= untilMs)
  );
}

/**
 * Goal: recall finds every message in scope that has a word of the query, and besides only what stands beside one; each once,
 * the best first, without two that say the same; and it does not matter what is indexed.
 * Method: random messages of few words and sentences, some of them indexed; compare hits and their copies with a walk over all
 * messages, then index the rest and recall again.
 */
test("hits are what a walk over all messages finds, before and after indexing", async () => {
  const seen = { hits: 0, copies: 0, beside: 0, narrowed: 0 };
  const history = fc.array(said, { minLength: 12, maxLength: 40, size: "max" });
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.nat(),
      words,
      fc.oneof(fc.constant({}), scope),
      async (events, split, query, options) =>
        inFolderAsync(async (folder) => {
          const store = openFresh(join(folder, "agent.db"));
          const messages: Message[] = [];
          for (const [index, { session, message }] of events.entries()) {
            if (index === split % events.length) store.verify({ rebuild: true });
            store.session(session, { project: projectOf(session) }).append(message);
          }
          for (const { id } of store.sessions()) messages.push(...store.resume(id).messages());
          const stems = new Set(searchWords(query).map(searchStem));
          const holds = ({ text }: Message): boolean => searchWords(text).some((word) => stems.has(searchStem(word)));
          const inScope = messages.filter((message) => isInScope(message, options));
          const holding = inScope.filter(holds).map(({ id }) => id);
          const isBeside = ({ sessionId, seq }: Message): boolean =>
            inScope.some((one) => one.sessionId === sessionId && Math.abs(one.seq - seq) <= 2 && holds(one));

          const found: number[][] = [];
          for (let round = 0; round < 2; round++) {
            const hits = await store.recall(query, { ...options, limit: 1_000 });
            const ids = hits.flatMap(({ messageId, copies }) => [messageId, ...copies.map((copy) => copy.messageId)]);
            expect(new Set(ids).size).toBe(ids.length);
            expect(ids).toEqual(expect.arrayContaining(holding));
            for (const id of ids) expect(inScope.filter(isBeside).map((message) => message.id)).toContain(id);
            const scores = hits.map(({ score }) => score);
            expect(scores).toEqual(scores.toSorted((left, right) => right - left));
            const sentences = hits.filter(({ text }) => SENTENCES.includes(text)).map(({ role, text }) => role + text);
            expect(new Set(sentences).size).toBe(sentences.length);
            for (const { messageId, sessionId, seq, text } of hits) {
              expect(messages).toContainEqual(expect.objectContaining({ id: messageId, sessionId, seq, text }));
            }
            found.push(ids.toSorted());
            seen.hits += ids.length;
            seen.copies += ids.length - hits.length;
            seen.beside += ids.length - holding.length;
            if (inScope.length > 0 && inScope.length < messages.length) seen.narrowed += 1;
            store.verify({ rebuild: true });
          }
          expect(found[1]).toEqual(found[0]);
          store.close();
        }),
    ),
    { numRuns: runs(20) },
  );
  expectSeen(seen, { hits: 125, copies: 10, beside: 10, narrowed: 2 });
});

const operators = fc.constantFrom(
  ...[
    '"',
    '""',
    "*",
    "^",
    ":",
    "(",
    ")",
    "-",
    "+",
    "{",
    "}",
    "AND",
    "OR",
    "NOT",
    "NEAR(a b, 2)",
    "words:",
    "'",
    ";",
    "%",
  ],
);
const query = fc.oneof(
  fc
    .array(fc.oneof(operators, nastyText, fc.constantFrom(...WORDS, "the", "it")), { maxLength: 6 })
    .map((pieces) => pieces.join(" ")),
  fc.array(operators, { maxLength: 8 }).map((pieces) => pieces.join("")),
  fc
    .constantFrom("lock region ", '"', "🎉 ", "セッション", "x".repeat(50))
    .map((unit) => unit.repeat(Math.ceil(100_000 / unit.length))),
);

/**
 * Goal: any text is a query: it is answered, or refused as empty, and nothing is written.
 * Method: random texts, with operators of FTS5 among them and up to 100 KB, asked of a store that is open for reading and
 * holds nasty messages, half of them indexed; then its files must have the bytes they had.
 */
test("any text is answered or refused as empty, and no byte of the files changes", async () => {
  const seen = { answered: 0, found: 0, refused: 0, long: 0 };
  const stored = fc.sample(nastyMessage, { numRuns: runs(30), seed: 7 });
  await inFolderAsync(async (folder) => {
    const path = join(folder, "agent.db");
    const writer = openFresh(path);
    writer.session("nasty").append(stored.slice(0, 30));
    writer.close(); // indexes them
    const other = openFresh(path);
    other.session("words").append(WORDS.map((content) => ({ role: "user", content })));
    other.session("nasty").append(stored.slice(30));
    const reader = openFresh(path, { readonly: true });
    await reader.recall("lock");
    const bytes = (): string[] =>
      readdirSync(folder)
        .sort()
        .map((name) => `${name} ${readFileSync(join(folder, name)).toString("base64")}`);
    const before = bytes();
    await fc.assert(
      fc.asyncProperty(query, fc.integer({ min: 1, max: 20 }), async (text, limit) => {
        try {
          const hits = await reader.recall(text, { limit });
          expect(hits.length).toBeLessThanOrEqual(limit);
          expect(/\S/.test(text)).toBe(true);
          seen.answered += 1;
          if (hits.length > 0) seen.found += 1;
        } catch (error) {
          if (!StoreError.is(error, "QUERY_EMPTY")) throw error;
          expect(text.trim()).toBe("");
          seen.refused += 1;
        }
        if (text.length >= 100_000) seen.long += 1;
      }),
      { numRuns: runs(60) },
    );
    expect(bytes()).toEqual(before);
    reader.close();
    other.close();
  });
  expectSeen(seen, { answered: 30, found: 10 });
  expect(seen.refused).toBeGreaterThan(0);
  expect(seen.long).toBeGreaterThan(seenInRuns(5));
});
