import { join } from "node:path";
import { expect, test } from "vitest";
import { cursorAgent } from "../../../src/importers/cursor/transcript.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { countsOf, eventsOfLines, jsonLines, messagesIn, put, warningsIn } from "./read.ts";

const ID = "5832a36f-ea52-4eb4-b8f7-16ed2bf063dd";
const said = (role: string, content: unknown) => ({ role, message: { content } });

test("the words of the user are told from what stands around them, and calls have no results", async () => {
  const events = await eventsOfLines(cursorAgent, [
    said("user", "<user_query>\nLook.\n</user_query>"),
    said("assistant", [{ type: "tool_use", name: "Read", input: { path: "a" } }, { type: "tide" }]),
    said("assistant", [{ type: "text", text: "" }]),
    { type: "turn_ended", status: "success" },
    said("king", "?"),
  ]);
  expect(messagesIn(events).map(({ parts }) => parts)).toMatchObject([
    [{ text: "<user_query>", injected: true }, { text: "\nLook.\n" }, { text: "</user_query>", injected: true }],
    [{ name: "Read", args: { path: "a" } }, { data: { type: "tide" } }],
  ]);
  expect(messagesIn(events)[0]!.parts![1]).not.toHaveProperty("injected");
  expect(warningsIn(events)).toEqual([[5, 'unknown kind of record: "king"']]);
});

test("a session has the id of its file, and subagents are its children", async () => {
  const folder = join(temporaryFolder(), "agent-transcripts", ID);
  const child = ID.replace("5832", "5833");
  const line = jsonLines([said("user", "Look.")]);
  put(join(folder, `${ID}.jsonl`), line);
  put(join(folder, "subagents", `${child}.jsonl`), line);
  const store = temporaryStore();
  expect(await countsOf(store, folder)).toEqual([2, 0, 0]);
  const sessions = store.sessions();
  const parent = sessions.find(({ externalId }) => externalId === ID)!;
  expect(sessions.find(({ externalId }) => externalId === child)?.parentSessionId).toBe(parent.id);
});
