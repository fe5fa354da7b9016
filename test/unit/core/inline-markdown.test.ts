import { expect, test } from "vitest";
import { spansOf, withoutMarkdown } from "../../../src/core/inline-markdown.ts";

test("marks of code, strong text and links are taken away, and what they mark stays", () => {
  const line = "**The `lock` file** is in [the docs](https://x.test/a), see ``a`b`` and __now__.";
  expect(withoutMarkdown(line)).toBe("The lock file is in the docs, see a`b and now.");
  expect(spansOf(line).filter(({ style }) => style !== "plain")).toMatchObject([
    { text: "The ", style: "strong" },
    { text: "lock", style: "code" },
    { text: " file", style: "strong" },
    { text: "a`b", style: "code" },
    { text: "now", style: "strong" },
  ]);
});

test("what only looks like a mark is text", () => {
  for (const text of ["`test/**/*.ts", "2**3 and 4 ** 5", "snake_case__name", "a ` b", "[x] done", "**", ""]) {
    expect(withoutMarkdown(text)).toBe(text);
  }
  expect(withoutMarkdown("`test/**/*.ts` and `src/**/*.ts`")).toBe("test/**/*.ts and src/**/*.ts");
});

test("a snippet out of strong text shows no lone mark, and a pattern keeps its own", () => {
  expect(withoutMarkdown("flock stays for the catalog.**")).toBe("flock stays for the catalog.");
  expect(withoutMarkdown("**Decision: a lease")).toBe("Decision: a lease");
  for (const text of ["src/**", "**/*.ts"]) expect(withoutMarkdown(text)).toBe(text);
});

test("words of a query are marked where they are, also across marks", () => {
  const spans = spansOf("the **advisory lock** file", [
    [6, 14],
    [15, 19],
    [22, 26],
  ]);
  expect(spans).toEqual([
    { text: "the ", style: "plain", isMatch: false },
    { text: "advisory", style: "strong", isMatch: true },
    { text: " ", style: "strong", isMatch: false },
    { text: "lock", style: "strong", isMatch: true },
    { text: " ", style: "plain", isMatch: false },
    { text: "file", style: "plain", isMatch: true },
  ]);
});
