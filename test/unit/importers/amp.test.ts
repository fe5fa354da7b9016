import { join } from "node:path";
import { expect, test } from "vitest";
import { amp } from "../../../src/importers/amp.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { countsOf, eventsOf, messagesIn, put, warningsIn } from "./read.ts";

const text = (words: string) => ({ type: "text", text: words });
const said = (role: string, ...content: object[]) => ({ role, content });
const use = (id: string) => ({ type: "tool_use", id, name: "Look", input: { id } });
const result = (toolUseID: string, run: object) => ({ type: "tool_result", toolUseID, run });

test("a result is what the tool printed, and says if it failed", async () => {
  const ids = ["1", "2", "3", "4"];
  const messages = [
    said("user", text("Look.")),
    said("assistant", ...ids.map(use)),
    said(
      "user",
      result("1", { status: "done", result: { output: "no", exitCode: 2 } }),
      result("2", { status: "done", result: { lines: 3 } }),
      result("3", { status: "rejected-by-user" }),
      result("4", { status: "error", error: { message: "gone" } }),
    ),
    said("king", text("?")),
    "words",
  ];
  const events = await eventsOf(amp, JSON.stringify({ id: "T-1", messages, env: 1 }));
  expect(messagesIn(events).flatMap(({ role, parts }) => (role === "tool" ? (parts ?? []) : []))).toMatchObject([
    { toolCallId: "1", content: "no", isError: true },
    { toolCallId: "2", content: '{"lines":3}', isError: false },
    { toolCallId: "3", content: "rejected-by-user", isError: true },
    { toolCallId: "4", content: "gone", isError: true },
  ]);
  expect(warningsIn(events)).toHaveLength(2);
});

test("a thread has its title and folder, waits for what runs, and an edited message is a new one", async () => {
  const folder = temporaryFolder();
  const store = temporaryStore();
  const env = { initial: { trees: [{ uri: "file:///work/my%20bell" }] } };
  const save = (...messages: object[]) =>
    countsOf(store, put(join(folder, "T-1.json"), { v: 1, id: "T-1", messages, env, title: "The bell" }));
  const [first, call] = [said("user", text("Look.")), said("assistant", use("1"))];
  expect(await save(first, call, said("user", result("1", { status: "in-progress" })))).toEqual([2, 0, 1]);
  const done = said("user", result("1", { status: "done", result: "seen" }));
  const streaming = { ...said("assistant", text("Se")), state: { type: "streaming" } };
  expect(await save(first, call, done, streaming)).toEqual([1, 2, 1]);
  expect(await save(first, call, done, said("assistant", text("Seen.")))).toEqual([1, 3, 0]);
  expect(await save(first, call, done, said("assistant", text("Seen.")), said("user", text("Go.")))).toEqual([1, 4, 0]);
  expect(store.sessions()).toMatchObject([{ externalId: "T-1", title: "The bell", project: "/work/my bell" }]);
});
