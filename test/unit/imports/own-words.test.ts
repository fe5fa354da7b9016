import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { SESSION, user } from "../importers/claude-code/lines.ts";
import { bring, jsonLines, put } from "../importers/read.ts";

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
  const lines = [...notices, words].map((content, index) => {
    const timestamp = new Date(Date.UTC(2026, 2, 1, 0, 0, index)).toISOString();
    return user(`u${index}`, content, { cwd: "/w/tide", timestamp, ...(index > 0 && { parentUuid: `u${index - 1}` }) });
  });
  const store = temporaryStore();
  await bring(store, put(join(temporaryFolder(), "s.jsonl"), jsonLines(lines)));

  expect(store.sessions()[0]?.opening).toBe(words);
  expect((await store.recall("harbor")).map(({ text }) => text)).toEqual([words]);
  const stored = store.resume(SESSION).messages();
  expect(stored.map(({ parts }) => parts.map((part) => part.text).join(""))).toEqual([...notices, words]);
  const recap = JSON.stringify(store.recap({ sinceMs: 0 }));
  expect(recap).toContain(words);
  expect(recap).not.toMatch(/make harbor|harbor job|interrupted/);
});
