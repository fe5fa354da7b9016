import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { codingSessions, runCoding } from "../../../scripts/eval/experiment/coding.ts";
import { runTalk, talkProjects } from "../../../scripts/eval/experiment/talk.ts";
import { inParallel } from "../../../scripts/eval/parallel.ts";
import type { EntireEntry } from "../../../scripts/eval/recall-data.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";

vi.stubEnv("GEMINI_API_KEY", "");
vi.stubEnv("GOOGLE_API_KEY", "");

const LIBRARY = new URL("../../../src/index.ts", import.meta.url).href;

/** A coding session in which each call repeats a line of 40 calls before. */
function codingFolder(): string {
  const folder = temporaryFolder();
  const call = (index: number): EntireEntry => {
    const text = JSON.stringify({
      file: `src/file${index % 40}.go`,
      text: `The line number ${index % 40} of this file`,
    });
    return { ts: "2026-01-01T00:00:00Z", role: "assistant", kind: "tool_call", name: "Edit", id: `c${index}`, text };
  };
  const asked: EntireEntry = { ts: "2026-01-01T00:00:00Z", role: "user", kind: "text", text: "Edit every file again." };
  const messages = [asked, ...Array.from({ length: 120 }, (_, index) => call(index))];
  mkdirSync(join(folder, "entire"));
  writeFileSync(join(folder, "entire", "sessions.jsonl.gz"), gzipSync(JSON.stringify({ sid: "s", messages })));
  return folder;
}

test("a coding session is compared at its cuts: with everything known, all gold is found", async () => {
  const dataFolder = codingFolder();
  expect(codingSessions(dataFolder)).toEqual(["s"]);
  const { outcomes, renders } = await runCoding({ dataFolder, sid: "s", every: 1, libraryBefore: LIBRARY });
  const at = (arm: string) => outcomes.filter((outcome) => outcome.arm === arm && outcome.place === 1);
  expect(at("full").map(({ shares }) => shares)).toEqual(Array(5).fill({ lines: 1, files: 1, symbols: undefined }));
  expect(at("shipped")[0]!.shares.lines).toBeLessThan(1);
  expect(at("before").map(({ shares }) => shares)).toEqual(at("shipped").map(({ shares }) => shares));
  expect(at("newest")[0]!.tokens).toEqual(at("shipped")[0]!.tokens);
  expect(renders.every(({ isLegal, overBudget, unaccounted }) => isLegal && !overBudget && unaccounted === 0)).toBe(
    true,
  );
  expect(renders.some(({ unused }) => unused > 0)).toBe(true);

  const fewer = await runCoding({ dataFolder, sid: "s", every: 2, libraryBefore: undefined });
  expect(new Set(fewer.outcomes.map(({ place }) => place))).toEqual(new Set([0]));
});

test("a conversation is compared by the words of its answers and the turns of its evidence", async () => {
  const dataFolder = temporaryFolder();
  const turns = Array.from({ length: 80 }, (_, index) => {
    const text = index === 3 ? "My cat is called Marmalade." : `I said thing ${index} about the weather. `.repeat(8);
    return { speaker: index % 2 === 0 ? "Ann" : "Bob", dia_id: `D1:${index + 1}`, text };
  });
  const sample = {
    sample_id: "conv",
    conversation: { session_1_date_time: "1:56 pm on 8 May, 2023", session_1: turns },
    qa: [
      { question: "What is the name of the cat?", answer: "Marmalade", evidence: ["D1:4"], category: 4 },
      { question: "When was that?", answer: "in May", evidence: ["D1:80"], category: 2 },
    ],
  };
  mkdirSync(join(dataFolder, "locomo"));
  writeFileSync(join(dataFolder, "locomo", "locomo.dev.json"), JSON.stringify([sample]));
  expect(talkProjects(dataFolder)).toEqual(["conv"]);
  const outcomes = await runTalk({ dataFolder, project: "conv", every: 1, libraryBefore: undefined });
  const at = (arm: string) => outcomes.filter((outcome) => outcome.arm === arm && outcome.budget === 1_000);
  expect(at("full").map(({ shares }) => shares)).toEqual([
    { answers: 1, evidence: 1 },
    { answers: undefined, evidence: 1 },
  ]);
  expect(at("newest").map(({ shares }) => shares)).toEqual([
    { answers: 0, evidence: 0 },
    { answers: undefined, evidence: 1 },
  ]);
  expect(at("shipped-query")[0]!.shares).toEqual({ answers: 1, evidence: 1 });
  expect(at("bm25-query")[0]!.shares).toEqual({ answers: 1, evidence: 1 });
});

test("pieces run in other processes, and the results are in order", async () => {
  const module = join(temporaryFolder(), "module.mjs");
  const lines = [
    "export async function run({ number, found }) {",
    '  if (number === 13) throw new Error("unlucky");',
    "  await new Promise((resolve) => setTimeout(resolve, 20 / number));",
    "  return { double: 2 * number, found: new Set(found), pid: process.pid };",
    "}",
  ];
  writeFileSync(module, lines.join("\n"));
  const inputs = [1, 2, 3].map((number) => ({ number, found: new Set([number]) }));
  const results = await inParallel<(typeof inputs)[0], { double: number; found: Set<number>; pid: number }>(
    pathToFileURL(module),
    inputs,
  );
  expect(results.map(({ double }) => double)).toEqual([2, 4, 6]);
  expect(results[2]!.found).toEqual(new Set([3]));
  expect(results.every(({ pid }) => pid !== process.pid)).toBe(true);
  await expect(inParallel(pathToFileURL(module), [{ number: 13 }])).rejects.toThrow("unlucky");
});
