import { join } from "node:path";
import { expect, test } from "vitest";
import { gemini } from "../../../src/importers/gemini.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { countsOf, eventsOf, messagesIn, put, sessionsIn, warningsIn } from "./read.ts";

const content = (role: string, text: string) => ({ role, parts: [{ text }] });

test("a request is read with calls and answers that have no ids", async () => {
  const contents = [
    content("user", "Look."),
    { role: "model", parts: [{ functionCall: { name: "look", args: { n: 1 } } }] },
    { role: "user", parts: [{ functionResponse: { name: "look", response: { output: "seen" } } }, { text: "And?" }] },
    { role: "tide", parts: [{ text: "?" }] },
  ];
  const events = await eventsOf(gemini, JSON.stringify({ model: "luna", contents }));
  expect(messagesIn(events).map(({ role, parts }) => [role, parts![0]!.toolCallId ?? parts![0]!.text])).toEqual([
    ["user", "Look."],
    ["assistant", "look_0"],
    ["tool", "look_0"],
    ["user", "And?"],
  ]);
  expect(sessionsIn(events)).toMatchObject([{ source: "gemini", metadata: { model: "luna" } }]);
  expect(warningsIn(events)).toEqual([[1, 'role: Gemini has no role "tide"']]);
});

test("a saved chat has its tag and folder, and one that is saved over it is stored beside it", async () => {
  const folder = join(temporaryFolder(), "tmp", "tide");
  put(join(folder, ".project_root"), "/w/tide\n");
  const store = temporaryStore();
  const save = (saved: object) => countsOf(store, put(join(folder, "checkpoint-gauge.json"), saved));
  const chat = [content("user", "Which gauge?"), content("model", "The seventh.")];
  expect(await save(chat)).toEqual([2, 0, 0]);
  expect(await save({ history: [...chat, content("user", "Thanks.")], authType: "x" })).toEqual([1, 2, 0]);
  expect(await save([content("user", "Another chat."), content("model", "Yes?")])).toEqual([2, 0, 0]);
  expect(store.sessions()).toMatchObject([{ title: "gauge", project: "/w/tide", source: "gemini" }]);
});
