import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claudeCode } from "../../../../src/importers/claude-code/importer.ts";
import { importFiles } from "../../../../src/imports/import-files.ts";
import { temporaryFolder, temporaryStore } from "../../../support/temporary-store.ts";
import { eventsOfLines, sessionsIn, warningsIn } from "../read.ts";
import { assistant, outline, SESSION, text, user } from "./lines.ts";

const lines = (...values: object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");

function streamed(type: string, uuid: string, fields: object): object {
  return { type, uuid, session_id: SESSION, ...fields };
}

function said(uuid: string, words: string): object {
  const message = { id: `m-${uuid}`, role: "assistant", content: [text(words)] };
  return streamed("assistant", uuid, { parent_tool_use_id: null, message });
}

const init = streamed("system", "i", { subtype: "init", cwd: "/w/tidewatch", tools: [] });
const result = (words: string) => streamed("result", `r ${words}`, { subtype: "success", result: words });

test("what a run says is a message, and its result is one if no message said it", async () => {
  const events = await eventsOfLines(claudeCode, [
    init,
    said("a", "It is high."),
    result("It is high."),
    result("$0.02"),
  ]);
  expect(warningsIn(events)).toEqual([]);
  expect(outline(events)).toEqual(["a assistant: It is high.", "r $0.02 assistant: $0.02"]);
  expect(sessionsIn(events)).toMatchObject([{ externalId: SESSION, source: "claude-code", folder: "/w/tidewatch" }]);
});

test("a result alone, as `--output-format json` writes it, is the answer", async () => {
  expect(claudeCode.detect(JSON.stringify(result("High.")))).toBe(true);
  expect(outline(await eventsOfLines(claudeCode, [result("High.")]))).toEqual(["r High. assistant: High."]);
});

test("a run whose transcript is there too is stored once", async () => {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, "a.jsonl"),
    lines(user("u", "is it high?", { cwd: "/w/tidewatch" }), assistant("a", "m-a", [text("It is high.")])),
  );
  writeFileSync(join(folder, "b.jsonl"), lines(init, said("a", "It is high."), result("It is high.")));
  const store = temporaryStore();
  const counts = { sessionCount: 1, newCount: 2, knownCount: 1, warningCount: 0 };
  expect(await importFiles(store, folder, { summarize: false })).toMatchObject(counts);
});

test("the stream of a program that imitates the format is none, and an unknown line is reported", async () => {
  const { uuid: _, parent_tool_use_id: _p, ...imitated } = said("a", "hi") as Record<string, unknown>;
  expect(claudeCode.detect(lines(imitated, { type: "tool_call", session_id: SESSION }))).toBe(false);
  const events = await eventsOfLines(claudeCode, [said("a", "hi"), streamed("brand-new", "x", {})]);
  expect(warningsIn(events)).toEqual([[2, 'unknown type of line: "brand-new"']]);
});
