import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { distill } from "../../../../src/context/tool-output/distill.ts";
import { runs, seenInRuns } from "../../../support/effort.ts";

function lines(count: number, line: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => line(index + 1));
}

test("keeps of a test report what failed, where, how many, and what the run said at its end", () => {
  const report = [
    "$ vitest run",
    ...lines(30, (index) => ` ✓ orders > accepts order ${index}`),
    " ✗ orders > refuses a total below zero",
    "   AssertionError: expected -1 to be 0",
    "     at src/orders.test.ts:41:20",
    "     at node_modules/vitest/run.js:10:2",
    "     at node_modules/vitest/run.js:90:4",
    ...lines(30, (index) => ` ✓ orders > accepts order ${30 + index}`),
    "",
    " Tests  1 failed | 60 passed (61)",
    " Duration 1.20s",
    "exit code 1",
  ];
  expect(distill(report.join("\n"), 420, "message 12").split("\n")).toEqual([
    "$ vitest run",
    " ✓ orders > accepts order 1",
    " ✓ orders > accepts order 2",
    " ✓ orders > accepts order 3",
    " ✓ orders > accepts order 4",
    "[… 26 more like these …]",
    " ✗ orders > refuses a total below zero",
    "   AssertionError: expected -1 to be 0",
    "     at src/orders.test.ts:41:20",
    "[… 32 lines …]",
    "",
    " Tests  1 failed | 60 passed (61)",
    " Duration 1.20s",
    "exit code 1",
    "[shortened from 1,997 characters, expand message 12]",
  ]);
});

test("folds what a log repeats, and keeps what went wrong", () => {
  const log = [
    "Starting worker",
    ...lines(60, (index) => `12:00:${String(index).padStart(2, "0")} poll queue: 0 jobs`),
    "12:01:00 connection refused by 10.0.0.7:5432",
    "12:01:01 retry in 5s",
    ...lines(60, (index) => `12:02:${String(index).padStart(2, "0")} poll queue: 0 jobs`),
    "worker stopped",
  ];
  expect(distill(log.join("\n"), 270, "message 12").split("\n")).toEqual([
    "Starting worker",
    "12:00:01 poll queue: 0 jobs",
    "12:00:02 poll queue: 0 jobs",
    "[… 58 more like these …]",
    "12:01:00 connection refused by 10.0.0.7:5432",
    "12:01:01 retry in 5s",
    "[… 60 more like these …]",
    "worker stopped",
    "[shortened from 3,456 characters, expand message 12]",
  ]);
});

test("keeps a trace's own frames and its message, and folds frames that come again", () => {
  const trace = [
    "Traceback (most recent call last):",
    '  File "/app/main.py", line 12, in main',
    "    run()",
    ...lines(20, (index) => `  File "/usr/lib/python3.11/loop.py", line ${index}, in run\n    handle()`),
    '  File "/app/orders.py", line 88, in total',
    "    return sum(prices) / count",
    "ZeroDivisionError: division by zero",
  ];
  expect(distill(trace.join("\n"), 340, "message 12").split("\n")).toEqual([
    "Traceback (most recent call last):",
    '  File "/app/main.py", line 12, in main',
    "    run()",
    '  File "/usr/lib/python3.11/loop.py", line 1, in run',
    "    handle()",
    "[… 38 lines …]",
    '  File "/app/orders.py", line 88, in total',
    "    return sum(prices) / count",
    "ZeroDivisionError: division by zero",
    "[shortened from 1,525 characters, expand message 12]",
  ]);
});

test("folds the frames of libraries, and keeps one's own between them", () => {
  const trace = [
    "TypeError: total is not a function",
    ...lines(8, (index) => `    at wrap${index} (/app/node_modules/router/index.js:${index}:1)`),
    "    at checkout (/app/src/checkout.ts:17:9)",
    ...lines(8, (index) => `    at step${index} (node:internal/process/task_queues:${index}:1)`),
  ];
  expect(distill(trace.join("\n"), 270, "message 12").split("\n")).toEqual([
    "TypeError: total is not a function",
    "    at wrap1 (/app/node_modules/router/index.js:1:1)",
    "[… 7 library frames …]",
    "    at checkout (/app/src/checkout.ts:17:9)",
    "[… 8 library frames …]",
    "[shortened from 926 characters, expand message 12]",
  ]);
});

test("keeps the headers of a diff, and changed lines before their context", () => {
  const context = (count: number, word: string) => lines(count, (index) => ` ${word} ${index}`);
  const diff = [
    "diff --git a/src/a.ts b/src/a.ts",
    "index 1a2b..3c4d 100644",
    "--- a/src/a.ts",
    "+++ b/src/a.ts",
    "@@ -1,30 +1,30 @@ start",
    ...context(15, "before"),
    "-const limit = 10;",
    "+const limit = 20;",
    ...context(15, "after"),
    "diff --git a/src/b.ts b/src/b.ts",
    "--- a/src/b.ts",
    "+++ b/src/b.ts",
    "@@ -5,20 +5,21 @@ stop",
    ...context(24, "left"),
  ];
  expect(distill(diff.join("\n"), 360, "message 12").split("\n")).toEqual([
    "diff --git a/src/a.ts b/src/a.ts",
    "[… 2 lines …]",
    "+++ b/src/a.ts",
    "@@ -1,30 +1,30 @@ start",
    "[… 15 lines …]",
    "-const limit = 10;",
    "+const limit = 20;",
    "[… 15 lines …]",
    "diff --git a/src/b.ts b/src/b.ts",
    "[… 1 line …]",
    "+++ b/src/b.ts",
    "@@ -5,20 +5,21 @@ stop",
    "[… 24 lines …]",
    "[shortened from 738 characters, expand message 12]",
  ]);
});

describe("JSON", () => {
  const noteLess = (text: string) => text.split("\n").slice(0, -1).join("\n");

  test("stays JSON: keys stay, long arrays keep their ends, long strings are cut, long numbers keep their digits", () => {
    const items = lines(40, (index) => `{"id": ${index}, "name": "item ${index}"}`).join(", ");
    const json = `{ "total": 12345678901234567890, "items": [${items}], "log": "${"all is well. ".repeat(40)}", "done": true }`;
    const short = noteLess(distill(json, 400, "message 12"));
    expect(short).toBe(
      '{"total":12345678901234567890,"items":[{"id":1,"name":"item 1"},{"id":2,"name":"item 2"},' +
        '{"id":3,"name":"item 3"},"… 36 more items …",{"id":40,"name":"item 40"}],' +
        '"log":"all is well. all is well. all is well. all is well. all is well. all is well. a [… 402 characters …] all ' +
        'is well. all is well. all is well. ","done":true}',
    );
    expect(JSON.parse(short).done).toBe(true);
  });

  test("quotes and backslashes inside its strings do not end them", () => {
    const value = { folder: "C:\\", said: 'the "end"', items: lines(40, (index) => `item ${index}`), done: true };
    const short = JSON.parse(noteLess(distill(JSON.stringify(value), 200, "message 12")));
    expect(short).toMatchObject({ folder: "C:\\", said: 'the "end"', done: true });
  });

  test("an output inside it is distilled as what it is", () => {
    const stdout = `building\n${"compiling a module\n".repeat(60)}src/a.ts(3,4): error TS2322: no\ndone`;
    const { stdout: short, exitCode } = JSON.parse(
      noteLess(distill(JSON.stringify({ stdout, exitCode: 2 }), 290, "message 12")),
    );
    expect(short).toMatch(
      /^building\n(compiling a module\n)+\[… \d+ more like these …\]\nsrc\/a\.ts\(3,4\): error TS2322: no\ndone$/,
    );
    expect(exitCode).toBe(2);
  });

  test("of more keys than there is room for the first and last stay", () => {
    const json = JSON.stringify(Object.fromEntries(lines(100, (index) => `key ${index}`).map((key) => [key, 1])));
    expect(noteLess(distill(json, 150, "message 12"))).toBe(
      '{"key 1":1,"key 2":1,"key 3":1,"key 4":1,"key 5":1,"…":"93 more keys","key 99":1,"key 100":1}',
    );
  });

  test("that is torn is a text like any other", () => {
    expect(distill(`{"a": "${"b".repeat(500)}`, 200, "message 12")).toMatch(
      /^\{"a": "b+ \[… \d+ characters …\] b+\n\[shortened from 507 characters, expand message 12\]$/,
    );
  });
});

test("names bytes by their size", () => {
  const shot = `shot taken\n${"iVBORw0KGgoAAAANSUhEUgAA".repeat(200)}\nsaved`;
  expect(distill(shot, 200, "message 12")).toBe(
    "shot taken\n[base64, 3,600 bytes]\nsaved\n[shortened from 4,817 characters, expand message 12]",
  );
});

/**
 * Goal: whatever the text and the limit, the limit holds, no surrogate pair is torn, and what comes back is short enough to
 * come back as it is.
 * Method: texts of lines that every rule looks for, joined at random, of JSON, and of any characters at all.
 */
test("keeps every limit and tears no character", () => {
  const piece = fc.constantFrom(
    "error: it broke",
    "  at run (src/a.ts:1:2)",
    "  at node:internal/x:1:1",
    "@@ -1,2 +1,2 @@",
    "+++ b/a.ts",
    "--- a/a.ts",
    "-old",
    "+new",
    "3 passed",
    "",
    "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}".repeat(30),
    "word ".repeat(80),
  );
  const text = fc.oneof(
    fc.array(piece, { maxLength: 60, size: "max" }).map((pieces) => pieces.join("\n")),
    fc
      .jsonValue({ maxDepth: 4, stringUnit: "grapheme" })
      .map((value) => JSON.stringify([value, value, value], null, 1)),
    fc
      .array(fc.record({ name: piece, nested: fc.array(piece) }), { maxLength: 30 })
      .map((list) => JSON.stringify(list)),
    fc.string({ unit: "grapheme", maxLength: 400, size: "max" }),
  );
  let cutCount = 0;
  fc.assert(
    fc.property(text, fc.nat(1_200), (whole, charsMax) => {
      const short = distill(whole, charsMax, "message 12");
      expect(short.length).toBeLessThanOrEqual(charsMax < whole.length ? charsMax : whole.length);
      expect(short.isWellFormed()).toBe(true);
      expect(distill(whole, charsMax, "message 12")).toBe(short);
      expect(distill(short, short.length, "message 12")).toBe(short);
      if (charsMax >= 110 && whole.length > charsMax) {
        expect(short).toContain(`characters, expand message 12]`);
        cutCount++;
      }
    }),
    { numRuns: runs(500) },
  );
  expect(cutCount).toBeGreaterThan(seenInRuns(50));
});
