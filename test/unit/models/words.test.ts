import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isStopWord } from "../../../src/models/stop-words.ts";
import { forEachWord, words } from "../../../src/models/words.ts";
import { runs, seenInRuns } from "../../support/effort.ts";

describe("words", () => {
  test.each([
    ["hyphens and versions", "union-find v2.41", ["union-find", "union", "find", "v2.41", "v2", "41"]],
    ["a Windows path, without its drive", "C:\\tmp\\x.log", ["tmp\\x.log", "x.log", "tmp", "log"]],
    ["contractions and possessives", "don't it's user’s", ["user"]],
    ["accents, also written apart", "cafe\u0301 café", ["café", "café"]],
    ["compatibility forms", "Ｆｕｌｌ ﬁle ｱｲ", ["full", "file", "アイ"]],
    ["Han and kana by pairs", "日本語 の", ["日本", "本語", "の"]],
    ["Hangul by pairs", "한국어", ["한국", "국어"]],
    ["scripts side by side in one run", "fooBar漢字x1", ["foobar", "foo", "bar", "漢字", "x1"]],
    ["Cyrillic and Greek words as they are", "Привет Ωμέγα", ["привет", "ωμέγα"]],
    ["numbers of two digits and more", "404 7 12", ["404", "12"]],
  ])("finds %s", (_, text, expected) => {
    expect(words(text)).toEqual(expected);
  });

  test.each(["", "a I", "… -- !!", "\u0000\u0007", "🎉👍", "\ud800"])("finds none in %j", (text) => {
    expect(words(text)).toEqual([]);
  });

  test("drops runs too long to be words, and keeps what stands around them", () => {
    expect(words(`before ${"x".repeat(41)} ${"Q".repeat(10_000)} after`)).toEqual([]);
    expect(words(`lock ${"x".repeat(41)} key`)).toEqual(["lock", "key"]);
    expect(words(`data:${"aGVsbG8gd29ybGQ".repeat(3)} end`)).toEqual(["data", "end"]);
  });
});

describe("forEachWord", () => {
  test("says what each word is", () => {
    const found: string[] = [];
    forEachWord("Lock in a/b.ts 漢字", (word, kind) => found.push(`${word}:${kind}`));
    expect(found).toEqual(["lock:word", "a/b.ts:whole", "b.ts:whole", "ts:piece", "漢字:gram"]);
  });
});

/** The words of ASCII text by the rules, said in regular expressions. */
function wordsOfAscii(text: string): string[] {
  const isTelling = (word: string): boolean => word.length > 1 && word.length <= 40 && !isStopWord(word);
  return (text.match(/[A-Za-z0-9_$]+(?:[./\\:@-][A-Za-z0-9_$]+)*/g) ?? []).flatMap((token) => {
    const segments = (token.match(/[A-Za-z0-9]+/g) ?? []).filter((segment) => segment.length <= 40);
    const humps = segments.flatMap((segment) => segment.match(/[A-Z]+(?![a-z])[0-9]*|[A-Z]?[^A-Z]+/g) ?? []);
    const pieces = humps.map((hump) => hump.toLowerCase());
    if (pieces.length < 2) return pieces.filter(isTelling);
    const whole = token.toLowerCase();
    const base = whole.split(/[/\\]/).at(-1)!;
    const wholes = token.length > 120 ? [] : [whole, ...(base === whole || pieces.includes(base) ? [] : [base])];
    return [...wholes, ...pieces.filter(isTelling)];
  });
}

/**
 * Goal: the characters looked at one by one say what the rules say.
 * Method: runs of letters, digits, glue and joints of many lengths, alone and beside a letter that is not ASCII, where the
 * same words come by another way. The rules in regular expressions are the oracle.
 */
test("finds in ASCII, alone or among other letters, what the rules find", () => {
  const run = fc
    .tuple(
      fc.constantFrom("a", "b", "Q", "7", "_", "$", "/", "\\", ".", "-", " ", ",", "'", "\0"),
      fc.integer({ min: 1, max: 3 }),
    )
    .map(([unit, count]) => unit.repeat(count));
  const piece = fc.oneof(
    { weight: 12, arbitrary: run },
    { weight: 2, arbitrary: fc.constantFrom("the", "fooBar", "HTTPBody", "x/Foo.ts", "Foo/foo", "parse") },
    fc.integer({ min: 38, max: 42 }).map((count) => "x".repeat(count)),
    fc.integer({ min: 55, max: 62 }).map((count) => "a/".repeat(count)),
  );
  let wordCount = 0;
  fc.assert(
    fc.property(fc.array(piece, { minLength: 10, maxLength: 30, size: "max" }), (pieces) => {
      const text = pieces.join("");
      const expected = wordsOfAscii(text);
      wordCount += expected.length;
      expect(words(text)).toEqual(expected);
      expect(words(`${text} é`)).toEqual(expected);
    }),
    { numRuns: runs(1_500) },
  );
  expect(wordCount).toBeGreaterThan(seenInRuns(5_000));
});

describe("isStopWord", () => {
  test("knows function words and the halves of contractions, and nothing that names a thing", () => {
    expect(["the", "would", "don", "ve"].map((word) => isStopWord(word))).toEqual([true, true, true, true]);
    expect(["lock", "retry", "state", "constructor"].filter((word) => isStopWord(word))).toEqual([]);
  });
});
