import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { searchable, searchStem, searchWords, stemBeginning } from "../../../src/models/search-words.ts";
import { runs, seenInRuns, slow } from "../../support/effort.ts";

describe("the words of a text", () => {
  test.each([
    ["We decided to keep the session lock.", ["decided", "session", "lock"]],
    ["src/fooBar.ts", ["src/foobar.ts", "foobar.ts", "src", "foo", "bar", "ts"]],
    ["Café au lait, naïve Ελλάδα, ёлка", ["cafe", "au", "lait", "naive", "ελλαδα", "елка"]],
    ["Straße in Łódź, Ærø", ["strasse", "lodz", "aero"]],
    ["セッション", ["セッ", "ッシ", "ショ", "ョン"]],
    ["がぎ 한글", ["がぎ", "한글"]],
    ["ﬁle ﬁle", ["file", "file"]],
    ["at src/lib/文件.ts", ["src/lib/", "src", "lib", "文件", "ts"]],
    ["हिन्दी", ["हिन्दी"]],
  ])("of %s", (text, words) => expect(searchWords(text)).toEqual(words));

  test.each([
    ["do it again", ["do", "it", "again"]],
    ["OK.", ["ok"]],
    ["À ü", ["a", "u"]],
    ["a b 7", ["a", "b", "7"]],
  ])("are all of them where none tells: %s", (text, words) => expect(searchWords(text)).toEqual(words));

  test.each(["", "  \n", "?!… 🎉 --", "\0", "\ud800"])("are none in %j", (text) =>
    expect(searchWords(text)).toEqual([]),
  );

  /**
   * Goal: whatever a text holds, SQLite's tokenizer leaves each word whole and adds none, and the text as it is compared
   * holds each of them. Method: index the words of random texts, one row each, and count the tokens of the row.
   */
  test("are each one token of the index, and stand in the text as it is compared", () => {
    const database = index();
    const insert = database.prepare("INSERT INTO texts (rowid, words) VALUES (?, ?)");
    const count = database.prepare<[], number>("SELECT coalesce(sum(cnt), 0) FROM stems").pluck();
    const piece = fc.oneof(
      fc.string({ unit: "binary", maxLength: 12 }),
      fc.string({ unit: "grapheme", maxLength: 12 }),
      fc.constantFrom(
        "fooBar",
        "src/a.ts",
        "naïve",
        "İstanbul",
        "ΟΔΟΣ",
        "$x_y",
        "c:\\d",
        "re-try",
        "it's",
        "ﬀ½",
        "src/文件.ts",
        "eyed",
        "鍵を",
      ),
    );
    let wordCount = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join(" ");
        const words = searchWords(text);
        wordCount += words.length;
        const compared = searchable(text);
        expect(words.filter((word) => !compared.includes(word))).toEqual([]);
        database.exec("DELETE FROM texts");
        insert.run(1, words.join(" "));
        expect(count.get()).toBe(words.length);
      }),
      { numRuns: runs(150) },
    );
    expect(wordCount).toBeGreaterThan(seenInRuns(500));
    database.close();
  });
});

describe("the stem of a word", () => {
  test.each([
    ["decided", "decid"],
    ["retries", "retri"],
    ["relational", "relat"],
    ["ts", "ts"],
    ["és", "é"],
    ["src/locks", "src/lock"],
    ["v2s", "v2"],
    [`${"x".repeat(63)}s`, "x".repeat(63)],
    [`${"x".repeat(64)}s`, `${"x".repeat(64)}s`],
    [`${"é".repeat(32)}s`, `${"é".repeat(32)}s`],
  ])("of %s", (word, stem) => expect(searchStem(word)).toBe(stem));

  /**
   * Goal: the stem is the one that SQLite's tokenizer makes, and every word begins as its stem says.
   * Method: beginnings of all shapes with every ending that Porter's rules know, and two of them; read what SQLite made.
   */
  slow(test)("is SQLite's own, for every ending of every kind of beginning", () => {
    const words = [...vocabulary()];
    expect(words.length).toBeGreaterThan(50_000);
    const database = index();
    const insert = database.prepare("INSERT INTO texts (rowid, words) VALUES (?, ?)");
    database.transaction(() => {
      for (const [at, word] of words.entries()) insert.run(at, word);
    })();
    const rows = database.prepare<[], [string, number]>("SELECT term, doc FROM places").raw().all();
    expect(rows).toHaveLength(words.length);
    const wrong = rows.filter(([stem, at]) => searchStem(words[at]!) !== stem);
    expect(wrong.map(([stem, at]) => [words[at], stem, searchStem(words[at]!)])).toEqual([]);
    const unlike = words.filter((word) => !word.startsWith(stemBeginning(searchStem(word))));
    expect(unlike).toEqual([]);
    database.close();
  });
});

function index(): Database.Database {
  const database = new Database(":memory:");
  database.exec(`CREATE VIRTUAL TABLE texts USING fts5(words, content = '', contentless_delete = 1, tokenize = "porter ascii tokenchars './\\:@-_$'");
    CREATE VIRTUAL TABLE stems USING fts5vocab(texts, row);
    CREATE VIRTUAL TABLE places USING fts5vocab(texts, instance);`);
  return database;
}

function vocabulary(): Set<string> {
  const beginnings =
    "a b tr y sky hopp fil rel gener z cry oo troubl say bay agre fals tann hiss fizz fail ball connect sensib possib operat communic lock retr decid vietnam radic formal electr adjust é ф α yα dzσ a-b src/a 12 v1 $x _q 日本 naïv ½ x.y".split(
      " ",
    );
  const endings =
    "s es ss sses ies eed ed ing y e l ll al ance ence er ic able ible ant ement ment ent ion sion tion ou ism ate iti ous ive ize ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti biliti logi icate ative alize iciti ical ful ness ity ly".split(
      " ",
    );
  const words = new Set<string>();
  for (const beginning of beginnings) {
    for (const ending of ["", ...endings]) {
      for (const last of ["", ...endings]) words.add(beginning + ending + last);
    }
  }
  // No language has these, and the two stemmers differ about them.
  return new Set([...words].filter((word) => !/yy(?:ed|ing)|^y+(?:ed|ing)/.test(word)));
}
