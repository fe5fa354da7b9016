import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importFiles } from "../../../../src/imports/import-files.ts";
import { temporaryFolder, temporaryStore } from "../../../support/temporary-store.ts";
import { user } from "./lines.ts";

const lines = (...values: object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");

/** A folder as `~/.claude`, with prompts of two sessions and the transcript of one of them. */
function agentFolder(): { folder: string; history: string; transcript: string } {
  const folder = temporaryFolder();
  const prompt = (display: string, sessionId: string, timestamp: number) => {
    return { display, pastedContents: {}, timestamp, project: "/w/tide.watch", sessionId };
  };
  const history = join(folder, "history.jsonl");
  writeFileSync(
    history,
    lines(prompt("is it high?", "s1", 1_790_000_000_000), prompt("and low?", "s2", 1_790_000_001_000)),
  );
  const projects = join(folder, "projects", "-w-tide-watch");
  mkdirSync(projects, { recursive: true });
  const transcript = join(projects, "s1.jsonl");
  writeFileSync(transcript, lines(user("u", "is it high?", { cwd: "/w/tide.watch" })));
  return { folder, history, transcript };
}

const sources = "SELECT source, external_id FROM sessions ORDER BY source";
const both = [
  { source: "claude-code", external_id: "s1" },
  { source: "claude-history", external_id: "s2" },
];

test("a session whose transcript is there, or was imported before, is not told by its prompts", async () => {
  const { folder, history, transcript } = agentFolder();
  const store = temporaryStore();
  const options = { summarize: false };
  expect(await importFiles(store, folder, options)).toMatchObject({ newCount: 2, warningCount: 0 });
  expect(store.query(sources)).toEqual(both);
  rmSync(transcript);
  expect(await importFiles(store, history, options)).toMatchObject({ newCount: 0, knownCount: 1, warningCount: 0 });
  expect(store.query(sources)).toEqual(both);
});

test("a session that was forgotten does not come back by its prompts", async () => {
  const { folder, history, transcript } = agentFolder();
  const store = temporaryStore();
  await importFiles(store, folder, { summarize: false });
  const [{ id }] = store.query("SELECT id FROM sessions WHERE source = 'claude-code'") as [{ id: string }];
  store.forget([id]);
  rmSync(transcript);
  expect(await importFiles(store, history)).toMatchObject({ newCount: 0 });
  expect(store.query(sources)).toEqual(both.slice(1));
});

test("without the transcript, the prompts are all that is left of a session", async () => {
  const { history, transcript } = agentFolder();
  rmSync(transcript);
  const store = temporaryStore();
  expect(await importFiles(store, history)).toMatchObject({ newCount: 2, sessionCount: 2 });
  expect(store.query("SELECT DISTINCT project FROM sessions")).toEqual([{ project: "/w/tide.watch" }]);
});
