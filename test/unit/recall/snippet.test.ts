import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { searchStem, searchWords } from "../../../src/models/search-words.ts";
import { type Snippet, snippetOf } from "../../../src/recall/snippet.ts";
import { runs, seenInRuns } from "../../support/effort.ts";
import { nastyText } from "../../support/message-arbitraries.ts";

/** The snippet for a query whose words weigh the same, with its marks as `**`. */
function snippet(text: string, query: string): string {
  return withMarks(snippetOf(text, new Map(searchWords(query).map((word) => [searchStem(word), 1]))));
}

function withMarks({ text, marks }: Snippet): string {
  const edges = new Set(marks.flat());
  return Array.from({ length: text.length + 1 }, (_, at) => (edges.has(at) ? "**" : "") + text.charAt(at)).join("");
}

const filler = (count: number, word = "ash"): string => Array(count).fill(word).join(" ");

describe("which stretch", () => {
  test("is the whole of a short text, on one line", () => {
    expect(snippet("The lock\n  is advisory.\r\n", "advisory")).toBe("The lock is **advisory**.");
    expect(snippet("The lock is advisory.", "harbor")).toBe("The lock is advisory.");
    expect(snippet("", "lock")).toBe("");
    expect(snippet(" \n\t ", "lock")).toBe("");
  });

  test("ends for a query of one letter that Porter's rules would cut off", () => {
    expect(snippet("May I ask?", "I")).toBe("May **I** ask?");
  });

  test("is the beginning of a long text in which nothing matches", () => {
    // 60 words of three letters and the spaces between them are 239 characters.
    expect(snippet(filler(100), "lock")).toBe(`${filler(60)} …`);
  });

  test("has most of the words, each counted once", () => {
    const text = `lock lock lock lock ${filler(100)} the region of the lock ${filler(100)}`;
    const shown = snippet(text, "lock region");
    expect(shown).toMatch(/^… ash .*the \*\*region\*\* of the \*\*lock\*\* .* …$/);
    expect(shown).not.toContain("lock** **lock");
  });

  test("prefers the word that weighs more", () => {
    const text = `lock ${filler(100)} region ${filler(100)}`;
    const weights = new Map([
      ["lock", 1],
      ["region", 1.1],
    ]);
    expect(withMarks(snippetOf(text, weights))).toContain("**region**");
    expect(withMarks(snippetOf(text, new Map([...weights, ["lock", 1.2]])))).toMatch(/^\*\*lock\*\* ash/);
  });

  test("is the first of equals", () => {
    const text = `one lock ${filler(100)} two lock ${filler(100)}`;
    expect(snippet(text, "lock")).toMatch(/^one \*\*lock\*\* ash/);
  });

  test("stands in the middle of what is shown", () => {
    const shown = snippet(`${filler(100)} lock ${filler(100)}`, "lock");
    const [before, after] = shown.split("**lock**");
    expect(Math.abs(before!.length - after!.length)).toBeLessThanOrEqual(4);
    expect(shown.length).toBeLessThanOrEqual(240 + "… **** …".length);
  });

  test("goes on to the end of the text where that comes first", () => {
    expect(snippet(`${filler(100)} lock`, "lock")).toMatch(/^… ash .* \*\*lock\*\*$/);
  });
});

describe("marks", () => {
  test("stand around words of the same stem, without the signs beside them", () => {
    expect(snippet('(Locking) "locks"; lock! block', "locked")).toBe('(**Locking**) "**locks**"; **lock**! block');
  });

  test("stand around an identifier or a path as a whole, whichever piece of it matches", () => {
    expect(snippet("call fooBar() in src/session/lock.ts:12, not foo_baz", "bar lock")).toBe(
      "call **fooBar**() in **src/session/lock.ts:12**, not foo_baz",
    );
    expect(snippet('{"file":"lock.ts","mode":"r"}', "lock")).toBe('{"file":"**lock.ts**","mode":"r"}');
  });

  test("find letters with and without accents, and in any case", () => {
    expect(snippet("Die Größe der CAFÉS", "grosse cafe")).toBe("Die **Größe** der **CAFÉS**");
    // Each ß is compared as two letters.
    expect(snippet("Maß Fuß Ruß Gruß Kuß Nuß lock", "lock")).toBe("Maß Fuß Ruß Gruß Kuß Nuß **lock**");
  });

  test("stand around the letters that match in scripts without spaces", () => {
    expect(snippet("我们决定使用会话锁，因为两个进程会同时写。", "会话锁")).toBe(
      "我们决定使用**会话锁**，因为两个进程会同时写。",
    );
    expect(snippet("使用lock文件", "lock")).toBe("使用**lock**文件");
  });

  test("are positions, so that asterisks of the text stay what they are", () => {
    const text = "**Decision:** test/**/*.ts, 2**3, and the **lock** file";
    expect(snippetOf(text, new Map([["lock", 1]]))).toEqual({ text, marks: [[44, 48]] });
  });

  test("may be many", () => {
    expect(snippet(filler(200, "lock"), "lock")).toBe(`${filler(48, "**lock**")} …`); // 48 words are 239 characters
  });
});

describe("the ends", () => {
  test("are cut anywhere in a text without white space", () => {
    expect(snippet("a".repeat(10_000), "lock")).toBe(`${"a".repeat(240)} …`);
    const shown = snippet(`${"a-".repeat(5_000)}+lock+${"-b".repeat(5_000)}`, "lock");
    expect(shown).toContain("+**lock**+");
    expect(shown.length).toBeLessThan(400);
  });

  test("leave emoji, flags and letters with marks whole", () => {
    for (const picture of ["👩‍👩‍👧‍👦", "🇳🇿", "👍🏽", "é̂", "한"]) {
      for (const before of ["", "a", "ab"]) {
        const shown = snippet(`${before}${picture.repeat(500)}`, "lock").replace(/ …$/, "");
        expect(shown.length).toBeGreaterThan(100);
        expect(shown.replaceAll(picture, "")).toBe(before);
      }
    }
  });
});

/**
 * Goal: a snippet shows what the text says, in its order, and nothing else but marks and ellipses.
 * Method: snippets of nasty texts for words of their own; without marks and white space each must stand in the text,
 * be well-formed and not long.
 */
test("a snippet is a stretch of its text", () => {
  let markedCount = 0;
  let cutCount = 0;
  fc.assert(
    fc.property(fc.array(nastyText, { minLength: 1, maxLength: 6 }), fc.nat(), (pieces, pick) => {
      const text = pieces.join(" ").replaceAll("*", "").toWellFormed();
      const words = searchWords(text);
      const query = words.length === 0 ? "lock" : words[pick % words.length]!;
      const shown = snippet(text, query);
      const bare = shown.replaceAll("**", "").replace(/^… /, "").replace(/ …$/, "");
      expect(text.replace(/\s+/g, "")).toContain(bare.replace(/\s+/g, ""));
      expect(shown.isWellFormed()).toBe(true);
      expect(bare.length).toBeLessThanOrEqual(1_000);
      if (shown.includes("**")) markedCount += 1;
      if (shown.endsWith(" …")) cutCount += 1;
    }),
    { numRuns: runs(300) },
  );
  expect(markedCount).toBeGreaterThan(seenInRuns(50));
  expect(cutCount).toBeGreaterThan(seenInRuns(20));
});
