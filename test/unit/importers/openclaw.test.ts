import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openclaw } from "../../../src/importers/openclaw.ts";
import { sampleOf } from "../../contract/importer-samples.ts";
import { expectLinearTime } from "../../support/processor-time.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { collect, eventsOfLines, fileOf, put, saidIn, sessionsIn } from "./read.ts";

const said = (id: string, text: string, more: object = {}) => ({
  type: "message",
  id,
  parentId: null,
  message: { role: "user", content: [{ type: "text", text }], ...more },
});

const shown = async (text: string, more: object = {}) =>
  saidIn(await eventsOfLines(openclaw, [said("1", text, more)]))[0];

test("a session has the title that the list beside it gives, its folder and the source openclaw", async () => {
  const folder = temporaryFolder();
  const entry = { sessionId: "7d0c2a8e-1111-4000-8000-000000000001", label: "The buoy", updatedAt: 1 };
  put(join(folder, "sessions.json"), { "agent:main:x": null, "agent:main:main": entry });
  const content = readFileSync(sampleOf("openclaw.jsonl"));
  const events = await collect(openclaw.read(fileOf(content, 65_536, join(folder, "a.jsonl"))));
  expect(sessionsIn(events)).toMatchObject([
    { externalId: entry.sessionId, source: "openclaw", folder: "/home/mira/.openclaw/workspace" },
  ]);
  expect(events).toContainEqual({ kind: "title", session: entry.sessionId, title: "The buoy" });
  put(join(folder, "sessions.json"), "[torn");
  const later = await collect(openclaw.read(fileOf(content, 65_536, join(folder, "a.jsonl"))));
  expect(later.filter(({ kind }) => kind === "title")).toEqual([]);
});

test("what the gateway writes around the words of a user is the program's", async () => {
  const facts = 'Conversation info (untrusted metadata):\n```json\n{\n  "sender": "mira"\n}\n```\n\n';
  const events = "System: [2026-03-05 09:00:00 GMT+0] Harbor DM from mira: Light it.\n\n";
  const at = `${events}${facts}[Thu 2026-03-05 09:00 GMT+0] `;
  expect(await shown(`${at}Light it.`)).toBe(`user: [${at}] | Light it.`);
  expect(await shown("[Harbor x 2026-03-05 09:00 GMT+0] mira: Light it.\n[message_id: 7]")).toBe(
    "user: [[Harbor x 2026-03-05 09:00 GMT+0] ] | mira: Light it. | [\n[message_id: 7]]",
  );
  const heartbeat = `${facts}Read HEARTBEAT.md if it exists.`;
  expect(await shown(heartbeat)).toBe(`user: [${heartbeat}]`);
  expect(await shown("Light it.", { runtimeContext: { kind: "cron" } })).toBe("user: [Light it.]");
});

test.each([
  "[keep this] Light it.",
  "Conversation info (untrusted metadata):\n```json\nnever closed",
  "Read HEARTBEAT.md and add the tide table",
  "System: [ERROR] the pump is full, why?",
  "[2025-01-02 10:00:00 ERROR] the pump refused, why?",
])("what a person typed is the person's, though it looks like the gateway's: %j", async (text) => {
  expect(await shown(text)).toBe(`user: ${text}`);
});

test("a text of any form is read in time that grows with it, however long it is", async () => {
  const blocks = [
    "System: [2026-01-01\n",
    "[x 2026-01-01 10:00 UTC] ",
    "A (untrusted x):\n```json\n\n```\n",
    "[2026-01-01 10:00",
    "\n[message_id: x]",
  ];
  for (const block of blocks) {
    const textOf = (count: number) => `${block.repeat(count)}y`;
    await expectLinearTime(1_000, textOf, (text) => eventsOfLines(openclaw, [said("1", text)]));
  }
  expect(await shown(`${"System: [2026-01-01\n".repeat(500_000)}y`)).toMatch(/\] \| y$/);
});
