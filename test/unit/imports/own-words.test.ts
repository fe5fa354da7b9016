import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importFiles } from "../../../src/imports/import-files.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";

test("a session is opened, found and told of by what its user said, and what programs wrote into it stays", async () => {
  const notices = [
    "<task-notification>\n<summary>the harbor job is over</summary>\n</task-notification>",
    "<bash-input>make harbor</bash-input>",
    "<bash-stdout>harbor made</bash-stdout><bash-stderr></bash-stderr>",
    "[Request interrupted by user for tool use]",
    '<teammate-message teammate_id="b">the harbor is ready</teammate-message>',
    "<environment_details>\n# harbor.c\n</environment_details>",
  ];
  const words = "Which buoy marks the harbor?";
  const lines = [...notices, words].map((content, index) => ({
    type: "user",
    uuid: `u${index}`,
    parentUuid: index === 0 ? null : `u${index - 1}`,
    sessionId: "s",
    cwd: "/w/tide",
    timestamp: new Date(Date.UTC(2026, 2, 1, 0, 0, index)).toISOString(),
    message: { role: "user", content },
  }));
  const path = join(temporaryFolder(), "s.jsonl");
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const store = temporaryStore();
  await importFiles(store, path, { summarize: false });

  expect(store.sessions()[0]?.opening).toBe(words);
  expect((await store.recall("harbor")).map(({ text }) => text)).toEqual([words]);
  const stored = store.resume("s").messages();
  expect(stored.map(({ parts }) => parts.map((part) => part.text).join(""))).toEqual([...notices, words]);
  const recap = JSON.stringify(store.recap({ sinceMs: 0 }));
  expect(recap).toContain(words);
  expect(recap).not.toMatch(/make harbor|harbor job|interrupted/);
});
