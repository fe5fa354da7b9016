import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { claudeCode } from "../../../../src/importers/claude-code/importer.ts";
import { chunksOf } from "../../../../src/importers/files.ts";
import { importFiles } from "../../../../src/imports/import-files.ts";
import { temporaryFolder, temporaryStore } from "../../../support/temporary-store.ts";
import { collect, messagesIn, warningsIn } from "../read.ts";
import { assistant, call, result, SESSION, user } from "./lines.ts";

const WHOLE = `first row\n${"row\n".repeat(1_000)}the kingfisher row\n`;

function previewOf(path: string): string {
  return `<persisted-output>\nOutput too large (4KB). Full output saved to: ${path}\n\nPreview (first 2KB):\nfirst row\n...\n</persisted-output>`;
}

function write(path: string, content: string | Uint8Array): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** Writes a transcript whose only result has its whole output in the file `named`. */
function transcriptWith(path: string, named: string, fields: Record<string, unknown> = {}): string {
  const lines = [
    user("u", "run it", fields),
    assistant("a", "m", [call("t1")], fields),
    user("r", [result("t1", previewOf(named))], fields),
  ];
  return write(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

async function resultIn(path: string) {
  const events = await collect(claudeCode.read({ path, chunks: chunksOf(path), isFinished: true }));
  const part = messagesIn(events).flatMap(({ parts }) => parts!.filter(({ type }) => type === "tool_result"))[0]!;
  return { content: part.content, warnings: warningsIn(events) };
}

test.each([`/home/ada/.claude/projects/p/${SESSION}/tool-results/t1.txt`, `C:\\p\\${SESSION}\\tool-results\\t1.txt`])(
  "a result that was too long has its beginning and its whole output: %s",
  async (named) => {
    const folder = temporaryFolder();
    write(join(folder, SESSION, "tool-results", "t1.txt"), WHOLE);
    const whole = {
      content: [previewOf(named), WHOLE].map((text) => ({ type: "text", text })),
      warnings: [],
    };
    expect(await resultIn(transcriptWith(join(folder, `${SESSION}.jsonl`), named))).toEqual(whole);
    const subagent = join(folder, SESSION, "subagents", "agent-x.jsonl");
    expect(await resultIn(transcriptWith(subagent, named, { isSidechain: true, agentId: "x" }))).toEqual(whole);
  },
);

test("a result keeps its beginning only if its output is gone, is elsewhere, or is no text", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "p", `${SESSION}.jsonl`);
  const secret = write(join(folder, "tool-results", "t1.txt"), "a file of another program");
  write(join(folder, "p", SESSION, "tool-results", "t2.bin"), Buffer.from([0xff, 0xfe]));
  const named = (name: string) => join(folder, "p", SESSION, "tool-results", name);
  for (const other of [named("gone.txt"), secret, `${folder}/p/../tool-results/t1.txt`, `${folder}/x.txt`]) {
    expect(await resultIn(transcriptWith(path, other))).toEqual({ content: previewOf(other), warnings: [] });
  }
  expect(await resultIn(transcriptWith(path, named("t2.bin")))).toEqual({
    content: previewOf(named("t2.bin")),
    warnings: [[3, "only the beginning of the output in t2.bin was imported: it is not UTF-8"]],
  });
});

test("an output is found, and a later import without it changes nothing", async () => {
  const folder = temporaryFolder();
  const output = write(join(folder, SESSION, "tool-results", "t1.txt"), WHOLE);
  transcriptWith(join(folder, `${SESSION}.jsonl`), output);
  const store = temporaryStore();
  expect(await importFiles(store, folder, { summarize: false })).toMatchObject({ newCount: 3, warningCount: 0 });
  const found = async () => (await store.recall("kingfisher row", { limit: 1 })).map(({ text }) => text);
  expect(await found()).toEqual([expect.stringContaining("the kingfisher row")]);
  rmSync(output);
  expect(await importFiles(store, folder)).toMatchObject({ newCount: 0, knownCount: 3, warningCount: 0 });
  expect(await found()).toEqual([expect.stringContaining("the kingfisher row")]);
});

test("an output that an earlier import did not read makes no conflict", async () => {
  const folder = temporaryFolder();
  const output = join(folder, SESSION, "tool-results", "t1.txt");
  transcriptWith(join(folder, `${SESSION}.jsonl`), output);
  const store = temporaryStore();
  await importFiles(store, folder, { summarize: false });
  write(output, WHOLE);
  expect(await importFiles(store, folder)).toMatchObject({ newCount: 0, knownCount: 3, warningCount: 0 });
});
