import { describe, expect, test } from "vitest";
import { isStopWord } from "../../../src/models/stop-words.ts";
import { forEachWord, words } from "../../../src/models/words.ts";

describe("words", () => {
  test.each([
    ["prose, without stop words and case", "The Lock is released, and we RETRY.", ["lock", "released", "retry"]],
    [
      "a path: the whole, its base name, the pieces",
      "src/fooBar.ts",
      ["src/foobar.ts", "foobar.ts", "src", "foo", "bar", "ts"],
    ],
    ["humps and acronyms", "parseHTTPBody", ["parsehttpbody", "parse", "http", "body"]],
    ["underscores", "foo_bar __init__", ["foo_bar", "foo", "bar", "init"]],
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

  test("keeps repeats and order", () => {
    expect(words("retry lock retry")).toEqual(["retry", "lock", "retry"]);
  });

  test("drops runs too long to be words, and keeps what stands around them", () => {
    expect(words(`before ${"x".repeat(41)} ${"Q".repeat(10_000)} after`)).toEqual([]);
    expect(words(`lock ${"x".repeat(41)} key`)).toEqual(["lock", "key"]);
    expect(words(`data:${"aGVsbG8gd29ybGQ".repeat(3)} end`)).toEqual(["data", "end"]);
  });

  test.each([
    ["separators", "a.".repeat(50_000)],
    ["humps", "aB".repeat(50_000)],
    ["dots after a word", `a${".".repeat(100_000)}`],
    ["capitals", "A".repeat(100_000)],
    ["scripts in turn", "aB/漢".repeat(25_000)],
    ["combining marks", `a${"\u0301".repeat(100_000)}`],
  ])("takes linear time over 100,000 characters of %s", (_, text) => {
    const startedAtMs = performance.now();
    words(text);
    expect(performance.now() - startedAtMs).toBeLessThan(1000);
  });
});

describe("forEachWord", () => {
  test("says what each word is", () => {
    const found: string[] = [];
    forEachWord("Lock in a/b.ts 漢字", (word, kind) => found.push(`${word}:${kind}`));
    expect(found).toEqual(["lock:word", "a/b.ts:whole", "b.ts:whole", "ts:piece", "漢字:gram"]);
  });
});

describe("isStopWord", () => {
  test("knows function words and the halves of contractions, and nothing that names a thing", () => {
    expect(["the", "would", "don", "ve"].map(isStopWord)).toEqual([true, true, true, true]);
    expect(["lock", "retry", "state", "constructor"].map(isStopWord)).toEqual([false, false, false, false]);
  });
});
