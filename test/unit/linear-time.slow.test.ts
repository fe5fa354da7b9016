import { test } from "vitest";
import { distill } from "../../src/context/tool-output/distill.ts";
import { shorten } from "../../src/context/tool-output/shorten.ts";
import { takeCitations } from "../../src/core/citations.ts";
import { withoutBytes } from "../../src/core/text.ts";
import { estimateTokens } from "../../src/core/token-estimate.ts";
import { filesIn } from "../../src/core/working-set.ts";
import { words } from "../../src/models/words.ts";
import { expectLinearTime, expectTimeRatio } from "../support/processor-time.ts";

const repeated = (unit: string) => (size: number) => unit.repeat(size / unit.length);
const lines = (size: number, line: (index: number) => string) => Array.from({ length: size / 40 }, (_, at) => line(at));
const distilled = (text: string) => distill(text, 2_000, "message 12");

type Case = [what: string, run: (text: string) => unknown, size: number, textOf: (size: number) => string];

test.each<Case>([
  ["the words of separators", words, 48_000, repeated("a.")],
  ["the words of humps", words, 48_000, repeated("aB")],
  ["the words of dots after a word", words, 24_000, (size) => `a${".".repeat(size)}`],
  ["the words of capitals", words, 24_000, repeated("A")],
  ["the words of scripts in turn", words, 96_000, repeated("aB/漢")],
  ["the words of combining marks", words, 24_000, (size) => `a${"\u0301".repeat(size)}`],
  ...["a", " ", "\n", ".", "é", "漢。", "a é "].map((unit): Case => {
    return [`the tokens of ${JSON.stringify(unit)}`, estimateTokens, 50_000, repeated(unit)];
  }),
  ["the bytes in letters", withoutBytes, 100_000, repeated("Aa1")],
  ["the bytes in short runs", withoutBytes, 100_000, repeated(`${"Aa1".repeat(80)} `)],
  ["the bytes in long runs", withoutBytes, 100_000, repeated(`${"a".repeat(300)} `)],
  ["the bytes in beginnings of URLs", withoutBytes, 100_000, repeated("data:a/")],
  ["the files in a long word", filesIn, 100_000, repeated("a/b.ts\\n")],
  ["the files in signs without a name", filesIn, 100_000, repeated(".a*:")],
  ["the citations in white space", takeCitations, 1_000, (size) => `a${" ".repeat(size)}b${" ".repeat(size)}[3]`],
  ["a distillate of one line", distilled, 50_000, repeated("abcd ")],
  ["a distillate of letters that might be bytes", distilled, 50_000, repeated("aB3")],
  ["a distillate of runs that might be a path", distilled, 50_000, repeated(`${"a.".repeat(149)}\n`)],
  ["a distillate of white space", distilled, 50_000, repeated(`${" ".repeat(299)}x\n`)],
  ["a distillate of line breaks", distilled, 50_000, repeated("\n")],
  [
    "a distillate of errors",
    distilled,
    50_000,
    (size) => lines(size, (index) => `src/file${index % 77}.ts(${index},3): error TS2322: no`).join("\n"),
  ],
  ["a distillate of JSON", distilled, 50_000, (size) => JSON.stringify(lines(size, (index) => `name ${index}`))],
  ["a distillate of brackets", distilled, 50_000, (size) => `${"[".repeat(size / 10)}${"]".repeat(size / 10)}`],
  ["a distillate of backslashes", distilled, 50_000, (size) => `["${"\\\\".repeat(size / 2)}"]`],
])("%s take linear time", (_, run, size, textOf) => expectLinearTime(size, textOf, run));

test("a cut takes as long for eighty thousand characters as for ten thousand", async () => {
  const [small, large] = [2_500, 20_000].map((size) => "é\u{1f33f} ".repeat(size));
  await expectTimeRatio(
    () => shorten(small!, 1_000, "message 7"),
    () => shorten(large!, 1_000, "message 7"),
    4, // 8 if all of it is segmented
  );
});
