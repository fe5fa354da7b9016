import { utimesSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { opencode } from "../../../src/importers/opencode/importer.ts";
import { importFiles } from "../../../src/imports/import-files.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { countsOf, put as write } from "./read.ts";

let storage: string;
beforeEach(() => {
  storage = join(temporaryFolder(), "storage");
});

/** Writes a value as opencode does, over many lines, or a text as it is, long ago. */
function put(path: string, value: object | string): void {
  const content = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  utimesSync(write(join(storage, path), content), 0, 0);
}

function session(id: string, fields: object = {}): void {
  const time = { created: 1_790_000_000_000, updated: 1_790_000_009_000 };
  const about = { id, version: "0.9", projectID: "p", directory: "/w/tide", title: `On ${id}`, time };
  put(`session/p/${id}.json`, { ...about, ...fields });
}

function message(sessionID: string, id: string, role: string, created: number, ...texts: string[]): void {
  put(`message/${sessionID}/${id}.json`, { id, sessionID, role, time: { created, completed: created + 1 } });
  for (const [index, text] of texts.entries()) {
    const part = { id: `prt_${index}`, sessionID, messageID: id, type: "text", text };
    put(`part/${id}/${part.id}.json`, part);
  }
}

const texts = "SELECT session_id, role, text FROM messages ORDER BY session_id, seq";

test("a session is read with its messages and their parts, in order, and again when it has grown", async () => {
  session("ses_1");
  session("ses_2", { parentID: "ses_1" });
  // The name of a message does not always tell its place.
  message("ses_1", "msg_b", "user", 1_790_000_000_001, "Is it high?");
  message("ses_1", "msg_a", "assistant", 1_790_000_000_002, "I look.", "It is.");
  message("ses_2", "msg_c", "user", 1_790_000_000_003, "Look into the log.");
  const store = temporaryStore();
  expect(await countsOf(store, storage)).toEqual([4, 0, 0]);
  expect(store.query(texts)).toEqual([
    { session_id: "ses_1", role: "user", text: "Is it high?" },
    { session_id: "ses_1", role: "assistant", text: "I look." },
    { session_id: "ses_1", role: "assistant", text: "It is." },
    { session_id: "ses_2", role: "user", text: "" },
  ]);
  expect(
    store.query("SELECT id, project, title, source, parent_session_id AS parent FROM sessions ORDER BY id"),
  ).toEqual([
    { id: "ses_1", project: "/w/tide", title: "On ses_1", source: "opencode", parent: null },
    { id: "ses_2", project: "/w/tide", title: "On ses_2", source: "opencode", parent: "ses_1" },
  ]);
  put("project/tide.json", "{}");
  put("settings.json", "{}");
  expect(await importFiles(store, storage, { summarize: false })).toMatchObject({ passedOver: { ".json": 1 } });
  message("ses_1", "msg_d", "user", 1_790_000_000_004, "Thanks.");
  expect(await countsOf(store, storage)).toEqual([1, 4, 0]);
});

test("damage costs only the file that it is in, and a session may have no messages", async () => {
  session("ses_1");
  session("ses_2");
  message("ses_1", "msg_a", "user", 1_790_000_000_001, "one", "two");
  message("ses_1", "msg_b", "user", 1_790_000_000_002, "three");
  put("message/ses_1/msg_b.json", '{"id":"msg_b",');
  put("part/msg_a/prt_0.json", "");
  const store = temporaryStore();
  const { files } = await importFiles(store, storage, { summarize: false });
  expect(files.flatMap(({ warnings }) => warnings)).toEqual([
    { line: 1, reason: expect.stringMatching(/^message msg_b: not JSON/) },
    { line: 2, reason: expect.stringMatching(/^part prt_0: not JSON/) },
  ]);
  expect(store.query(texts)).toMatchObject([{ text: "two" }]);
});

test("a session is recognized on one line and over many, and other objects are not", () => {
  const value = { id: "ses_1", projectID: "p", time: { created: 1 } };
  for (const space of [0, 2]) {
    expect(opencode.detect(JSON.stringify(value, null, space))).toBe(true);
    for (const other of [{ id: "../ses_1" }, { projectID: undefined }, { time: 1 }]) {
      expect(opencode.detect(JSON.stringify({ ...value, ...other }, null, space))).toBe(false);
    }
  }
});
