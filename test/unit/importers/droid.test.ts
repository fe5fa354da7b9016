import { join } from "node:path";
import { expect, test } from "vitest";
import { droid } from "../../../src/importers/droid.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { collect, eventsOfLines, fileOf, jsonLines, messagesIn, put, sessionsIn, warningsIn } from "./read.ts";

const message = (id: string, role: string, content: unknown, more: object = {}) => ({
  type: "message",
  id,
  message: { role, content, ...more },
});

test("a session has its title, its folder, the model of its settings and the session that called it", async () => {
  const path = join(temporaryFolder(), "a.jsonl");
  put(path.replace(".jsonl", ".settings.json"), '{"model":"sol","tokenUsage":{"inputTokens":5}}');
  const titles = { title: "Look into it", sessionTitle: "Look" };
  const start = { type: "session_start", id: "a", ...titles, cwd: "/w", version: 2, callingSessionId: "b" };
  const content = jsonLines([start, message("1", "user", "Look.")]);
  const events = await collect(droid.read(fileOf(content, 65_536, path)));
  expect(sessionsIn(events)).toMatchObject([
    { externalId: "a", title: "Look", folder: "/w", parentExternalId: "b", metadata: { model: "sol", version: 2 } },
  ]);
  const untitled = [{ ...start, sessionTitle: undefined }, message("1", "user", "Look.")];
  expect(sessionsIn(await eventsOfLines(droid, untitled))).toMatchObject([{ title: "Look into it" }]);
});

test("what only the user or only the model sees is the program's, and a compaction gives a summary", async () => {
  const events = await eventsOfLines(droid, [
    message("1", "user", "Look."),
    message("2", "user", [{ type: "text", text: "No subscription." }], { visibility: "user_only" }),
    message("3", "assistant", [{ type: "text", text: "Seen." }], { modelId: "sol" }),
    { type: "compaction_state", id: "4", summaryText: "It was seen.", anchorMessage: { id: "3" } },
    { type: "compaction_state", id: "5" },
    message("6", "king", "?"),
    { type: "message", id: "7" },
    { type: "tide" },
  ]);
  expect(messagesIn(events)).toMatchObject([
    { parts: [{ text: "Look." }] },
    { parts: [{ text: "No subscription.", injected: true }] },
    { parts: [{ text: "Seen." }], metadata: { model: "sol" } },
    { parts: [{ text: "It was seen." }], metadata: { isCompactSummary: true, keptFrom: "3" } },
  ]);
  expect(warningsIn(events).map(([line]) => line)).toEqual([6, 7, 8]);
});
