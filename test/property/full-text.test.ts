import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { estimatingTokenCounter } from "../../src/core/tokens.ts";
import { searchStem, searchWords } from "../../src/models/search-words.ts";
import { TITLES } from "../../src/models/title.ts";
import { searchFullText } from "../../src/recall/full-text-search.ts";
import { holdsPhrases } from "../../src/recall/phrase.ts";
import type { TextHit } from "../../src/recall/postings.ts";
import { parseQuery } from "../../src/recall/query.ts";
import { storeSource } from "../../src/recall/store-source.ts";
import { openDatabase } from "../../src/store/file/open.ts";
import { makeRepositories } from "../../src/store/repositories.ts";
import { expectSeen, runs } from "../support/effort.ts";
import { nastyMessage } from "../support/message-arbitraries.ts";
import { user } from "../support/said.ts";
import { inFolder, openFresh } from "../support/temporary-store.ts";

const WORDS =
  "lock locks locking region regions deploy deployed café cafe src/fooBar.ts fooBar retry retries session ok it the セッション naïve 404 v2.1 src/文件.ts eyed fileLock".split(
    " ",
  );

const text = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 12 }).map((words) => words.join(" "));
const query = fc
  .tuple(text, fc.option(fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 2 })))
  .map(([words, quoted]) => (quoted === null ? words : `"${quoted.join(" ")}" ${words}`));
const texts = fc.array(text, { minLength: 1, maxLength: 40, size: "max" });

/** BM25 as the textbook has it, over all messages, read one by one. */
function scores(messages: readonly { id: number; text: string }[], query: string): Map<number, number> {
  const documents = messages.map(({ id, text }) => ({ id, stems: searchWords(text).map(searchStem) }));
  const mean = documents.reduce((sum, { stems }) => sum + stems.length, 0) / documents.length;
  const found = new Map<number, number>();
  const { words, phrases } = parseQuery(query);
  const held = new Set(messages.filter(({ text }) => holdsPhrases(text, phrases)).map(({ id }) => id));
  for (const { stem, count } of words) {
    const holding = documents.filter(({ stems }) => stems.includes(stem));
    const idf = Math.log(1 + (documents.length - holding.length + 0.5) / (holding.length + 0.5));
    for (const { id, stems } of holding) {
      if (!held.has(id)) continue;
      const frequency = stems.filter((other) => other === stem).length;
      const saturated = (frequency * 2.2) / (frequency + 1.2 * (0.25 + (0.75 * stems.length) / mean));
      found.set(id, (found.get(id) ?? 0) + Math.sqrt(count) * idf * saturated);
    }
  }
  return found;
}

function meanLength(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + searchWords(text).length, 0) / texts.length;
}

const seen = { tailHits: 0, indexedHits: 0, nasty: 0 };

/**
 * Goal: a message is found at once, and nearly as high as after it has been indexed; and what is found is what reading every
 * message would find.
 * Method: index some random messages, leave others to the tail, and search from a connection that only reads; then index the
 * rest and search again. Compare the first search with the second, and the second with BM25 reckoned from all messages.
 */
test("a search finds the same before and after indexing, and what reading every message would find", () => {
  fc.assert(
    fc.property(texts, texts, fc.array(nastyMessage, { maxLength: 3 }), query, (early, late, nasty, query) =>
      inFolder((folder) => {
        const path = join(folder, "agent.db");
        const store = openFresh(path);
        const session = store.session("s");
        session.append(early.map((content) => user(content)));
        store.verify({ rebuild: true });
        session.append([...late.map((content) => user(content)), ...nasty]);
        seen.nasty += nasty.length;
        const database = openDatabase(path, { readonly: true, durability: "process", busyTimeoutMs: 5_000 });
        const repositories = makeRepositories(database, estimatingTokenCounter, TITLES);
        const search = (): TextHit[] => searchFullText(storeSource(repositories), parseQuery(query), {}, 1_000).hits;
        const before = search();
        store.verify({ rebuild: true });
        const after = search();

        const ids = (candidates: readonly TextHit[]): number[] => candidates.map(({ messageId }) => messageId).sort();
        expect(ids(before)).toEqual(ids(after));
        const messages = session.messages().map(({ id, name, text }) => ({ id, text: `${name ?? ""}\n${text}` }));
        // Lengths of what was indexed were compared with the mean of the index: no score differs by more than the two means do.
        const means = [meanLength(early), meanLength(messages.map(({ text }) => text))].sort(
          (one, other) => one - other,
        );
        const scoreOf = new Map(after.map(({ messageId, score }) => [messageId, score]));
        for (const { messageId, score } of before) {
          const isTail = messageId > early.length;
          expect(Math.abs(score / scoreOf.get(messageId)! - 1)).toBeLessThan(
            isTail ? 0.001 : means[1]! / means[0]! - 0.999,
          );
          if (isTail) seen.tailHits += 1;
          else seen.indexedHits += 1;
        }
        const expected = scores(messages, query);
        expect(ids(after)).toEqual([...expected.keys()].sort());
        for (const { messageId, score } of after) expect(score).toBeCloseTo(expected.get(messageId)!, 6);
        database.client.close();
        store.close();
      }),
    ),
    { numRuns: runs(50) },
  );
  expectSeen(seen, { tailHits: 200, indexedHits: 200, nasty: 10 });
});
