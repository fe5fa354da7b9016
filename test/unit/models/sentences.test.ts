import { describe, expect, test } from "vitest";
import { sentencesOf } from "../../../src/models/sentences.ts";

const LONG = "This sentence is long enough to stand for itself in a summary.";
const OTHER = "Another one says something else at about the same length.";

/** The texts of the sentences that are prose. */
function proseOf(text: string): string[] {
  return sentencesOf(text).flatMap(({ kind, text }) => (kind === "prose" ? [text] : []));
}

describe("sentencesOf", () => {
  test("splits a paragraph into its sentences", () => {
    expect(proseOf(`${LONG} ${OTHER}`)).toEqual([LONG, OTHER]);
  });

  test("keeps a short sentence with its neighbor", () => {
    expect(proseOf(`No. ${LONG}`)).toEqual([`No. ${LONG}`]);
    expect(proseOf(`${LONG} Why?`)).toEqual([`${LONG} Why?`]);
  });

  test("does not split names, versions and abbreviations", () => {
    const line = "Node 20.19 reads src/index.ts, e.g. with tsx, and calls fmt.Errorf in v1.2.3 of the tool.";
    expect(proseOf(line)).toEqual([line]);
  });

  test("splits where the next sentence begins with code or a quote", () => {
    expect(proseOf(`${LONG} \`parse\` reads it from the file that the user has named.`)).toHaveLength(2);
  });

  test("splits scripts that write no spaces", () => {
    const one = "部署失败了因为该区域已满".repeat(5);
    expect(proseOf(`${one}。${one}。`)).toEqual([`${one}。`, `${one}。`]);
  });

  test("takes the row that names the columns of a table for a heading, but no other row", () => {
    const table = "Found:\n| Boat | Fault |\n|---|---|\n| Heron | leaks |\n|---|---|\n| Swan | lists |\n";
    expect(sentencesOf(`${table}\n| | |\n|---|---|\n| Tern | sinks |`).map(({ kind }) => kind)).toEqual([
      "prose",
      "heading",
      "row",
      "row",
      "row",
    ]);
  });

  test("takes a short line above a list for its heading, but no sentence", () => {
    const list = "- Changed files\n  - src/lock.ts\n- All tests pass\n  - unit\n\nTradeoffs\n- slow\n- Done\n- Too\n";
    expect(sentencesOf(list).map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      "heading: Changed files",
      "prose: src/lock.ts",
      "prose: All tests pass",
      "prose: unit",
      "heading: Tradeoffs",
      "prose: slow",
      "prose: Done",
      "prose: Too",
    ]);
  });

  test("takes every item of a list for itself, without its mark", () => {
    expect(proseOf("- one thing\n* another\n2. a third\n- [x] done with it")).toEqual([
      "one thing",
      "another",
      "a third",
      "[x] done with it",
    ]);
  });

  test("joins lines that an editor wrapped, and no others", () => {
    const wrapped = "The frontier moves only when the messages since then\nreach the size of a batch.";
    expect(proseOf(wrapped)).toEqual([
      "The frontier moves only when the messages since then reach the size of a batch.",
    ]);
    expect(proseOf("one\ntwo")).toEqual(["one", "two"]);
    expect(proseOf(`${LONG}\nanother line`)).toEqual([LONG, "another line"]);
  });

  test("tells headings, quotes, table rows and code from prose", () => {
    const text = "## Result\n> he said so\n| a | b |\n|---|---|\n| 1 | 2 |\n```ts\nconst a = 1;\n```\nIt works.";
    expect(sentencesOf(text)).toEqual([
      { kind: "heading", text: "Result" },
      { kind: "quote", text: "he said so" },
      { kind: "heading", text: "| a | b |" },
      { kind: "row", text: "| 1 | 2 |" },
      { kind: "code", text: "const a = 1;" },
      { kind: "prose", text: "It works." },
    ]);
  });

  test("finds nothing in rules and blank lines", () => {
    expect(sentencesOf("\n---\n\n===\n* * *\n")).toEqual([]);
  });
});
