import { describe, expect, test } from "vitest";
import { expressionOf, holdsPhrases } from "../../../src/recall/phrase.ts";
import { parseQuery } from "../../../src/recall/query.ts";
import { expectLinearTime } from "../../support/processor-time.ts";

const wordsOf = (text: string): string[] => parseQuery(text).words.map(({ word }) => word);
const expressionsOf = (text: string): string[] => parseQuery(text).phrases.map(expressionOf);

describe("a query", () => {
  test("is its words that tell, one of each stem, with how often it has them", () => {
    expect(parseQuery("What did we decide about locks, the lock, and deciding?").words).toEqual([
      { word: "decide", stem: "decid", count: 2, isQuoted: false },
      { word: "locks", stem: "lock", count: 2, isQuoted: false },
    ]);
  });

  test("is all of its words where none tells", () => {
    expect(wordsOf("do it again")).toEqual(["do", "it", "again"]);
    expect(wordsOf("?!")).toEqual([]);
  });

  test("leaves out the words that only name a time, unless they are quoted or the only ones", () => {
    expect(wordsOf("which lock did we mend last week?")).toEqual(["lock", "mend"]);
    expect(wordsOf('the "two weeks ago" filter of last month')).toEqual(["weeks", "ago", "filter"]);
    expect(wordsOf("what did we do yesterday")).toEqual(["yesterday"]);
    expect(wordsOf("who reads src/today.ts?")).toContain("src/today.ts");
  });

  test("is no expression in the language of FTS5", () => {
    expect(wordsOf("words:lock NOT region* NEAR(a b) ^deploy (x AND y) {z} + -")).toEqual([
      "words:lock",
      "words",
      "lock",
      "region",
      "near",
      "deploy",
    ]);
  });

  test.each(["", " ", "\n\t\u00a0\u2003"])("of white space is refused: %j", (text) => {
    expect(() => parseQuery(text)).toThrow(expect.objectContaining({ code: "QUERY_EMPTY" }));
  });

  test("of any length keeps as many words as 100 KB may have, in linear time", async () => {
    const textOf = (count: number) => Array.from({ length: count }, (_, index) => `w${index}x`).join(" ");
    await expectLinearTime(500, textOf, parseQuery);
    expect(parseQuery(textOf(20_000)).words).toHaveLength(16_384);
  });
});

describe("what stands in double quotes", () => {
  test("is a phrase, and its words are words too", () => {
    const { words, phrases } = parseQuery('deploy "Session  LOCK" now');
    expect(words.map(({ word, isQuoted }) => [word, isQuoted])).toEqual([
      ["deploy", false],
      ["session", true],
      ["lock", true],
    ]);
    expect(phrases).toEqual([
      {
        compared: "session lock",
        first: { wholes: [], parts: ["session"], isWord: true },
        last: { wholes: [], parts: ["lock"], isWord: true },
        runs: [
          { wholes: [], parts: ["session"], isWord: true },
          { wholes: [], parts: ["lock"], isWord: true },
        ],
      },
    ]);
    expect(phrases.map(expressionOf)).toEqual(['NEAR("session" "lock", 12)']);
  });

  test("may have been indexed whole or in pieces", () => {
    expect(expressionsOf('"see src/fooBar.ts"')).toEqual([
      '("src/foobar.ts" OR "foobar.ts" OR ("src" AND "foo" AND "bar" AND "ts"))',
    ]);
  });

  test("narrows by the nearness of neighbors, and by a dozen of its words", () => {
    expect(expressionsOf('"the lock of src/a.ts is stale again"')).toEqual([
      '"lock" AND ("src/a.ts" OR "a.ts" OR ("src" AND "ts")) AND "stale"',
    ]);
    const long = Array.from({ length: 30 }, (_, index) => `w${index}`).join(" ");
    expect(expressionsOf(`"${long}"`)[0]!.match(/"w/g)).toHaveLength(12);
  });

  test("may have any signs in it", () => {
    expect(holdsPhrases("f(x) = [a|b]*\n c.d$", parseQuery('"(x) = [a|b]* c.d$"').phrases)).toBe(true);
    expect(holdsPhrases("f(x) = [a|b]* cxd$", parseQuery('"(x) = [a|b]* c.d$"').phrases)).toBe(false);
  });

  test("narrows nothing down where no word of it tells", () => {
    expect(expressionsOf('"to be" "鍵"')).toEqual(["", ""]);
  });

  test("is nothing without a second quote, or without anything between the two", () => {
    expect(parseQuery('5" disk').phrases).toEqual([]);
    expect(parseQuery('"" " " disk').phrases).toEqual([]);
  });

  test("counts once, and up to sixteen times", () => {
    expect(parseQuery('"a lock" "A  Lock"').phrases).toHaveLength(1);
    expect(parseQuery(Array.from({ length: 40 }, (_, index) => `"lock ${index}"`).join(" ")).phrases).toHaveLength(16);
  });

  test.each([
    ["the Session\n\tLock is stale", true],
    ["session unlock", false],
    ["session lock", true],
    ["session, lock", false],
    ["lock session", false],
  ])("is looked for letter by letter: %j", (text, holds) => {
    expect(holdsPhrases(text, parseQuery('"session lock"').phrases)).toBe(holds);
  });

  test("is found however its letters are put together", () => {
    expect(holdsPhrases("CAFE\u0301 noir", parseQuery('"café noir"').phrases)).toBe(true);
  });

  test.each([
    ['"store" deploy', "datastore deploy", false],
    ['"store" deploy', "blobStore deploy", true],
    ['"store deploy"', "datastore deploy, then store", false],
    ['"store deploy"', "datastore deploy, then the store deploy", true],
    ['"store deploy"', "restore deployed", false],
    ['"store deploy"', "fileStore deploy/eu.ts", true],
    ['"fooBar.config"', "pre.foobar.config", false],
    ['"fooBar.config"', "pre.fooBar.config", true],
    ['"foobar.config"', "see fooBar.config", true],
    ['"库/文件.ts"', "see src/库/文件.ts", true],
    ['"as it"', "has it", true],
  ])("begins and ends with whole words: %s in %j: %s", (query, text, holds) => {
    expect(holdsPhrases(text, parseQuery(query).phrases)).toBe(holds);
  });

  test("of any length is read, and looked for, in linear time", async () => {
    const textOf = (count: number) => `"${"the ".repeat(count)}lock"`;
    await expectLinearTime(1_000, textOf, parseQuery);
    const { phrases } = parseQuery(textOf(25_000));
    expect(holdsPhrases(`${"the ".repeat(1_000)}7`, phrases)).toBe(false);
    const repeated = parseQuery(`"${"ab ".repeat(500)}c"`).phrases;
    const repeatedIn = (text: string) => expect(holdsPhrases(text, repeated)).toBe(false);
    await expectLinearTime(1_000, (count) => `x${"ab ".repeat(count)}`, repeatedIn);
  });
});
