import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isPattern, pathsOf } from "../../../src/importers/globs.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "globs-"));
  for (const name of [
    "a.jsonl",
    "b.jsonl",
    "c.json",
    ".d.jsonl",
    "x/a.jsonl",
    "x/y/b.jsonl",
    "x/.z/c.jsonl",
    "a+(1).jsonl",
  ]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), "");
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ["*.jsonl", ["a+(1).jsonl", "a.jsonl", "b.jsonl"]],
  ["?.json*", ["a.jsonl", "b.jsonl", "c.json"]],
  ["[!a].jsonl", ["b.jsonl"]],
  ["[ac].{json,jsonl}", ["a.jsonl", "c.json"]],
  [".*.jsonl", [".d.jsonl"]],
  ["*/a.jsonl", ["x/a.jsonl"]],
  ["**/*.jsonl", ["a+(1).jsonl", "a.jsonl", "b.jsonl", "x/a.jsonl", "x/y/b.jsonl"]],
  ["x/**/b.jsonl", ["x/y/b.jsonl"]],
  ["a+(*).jsonl", ["a+(1).jsonl"]],
  ["{x,none}/a.jsonl", ["x/a.jsonl"]],
  ["[z-a].jsonl", []],
  ["none/*.jsonl", []],
])("%s", async (pattern, names) => {
  const paths = await pathsOf(join(folder, pattern));
  expect(paths.map((path) => path.slice(folder.length + 1))).toEqual(names);
});

test("only paths with magic in them are patterns", () => {
  expect(["a.jsonl", "/a/b", "-"].filter(isPattern)).toEqual([]);
  expect(["*", "a?", "[a]", "{a,b}"].every(isPattern)).toBe(true);
});
