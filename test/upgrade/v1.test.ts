import { copyFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { Store } from "../../src/index.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

// What the first format promised to whoever has files of it. scripts/fixture-store.ts wrote the file.

const FIXTURE = fileURLToPath(new URL("../fixtures/stores/v1.db", import.meta.url));

function openFixture(): Store {
  const path = temporaryPath();
  copyFileSync(FIXTURE, path);
  return openedStore(path);
}

test("every session is there, with its counts, its project and its parent", () => {
  const store = openFixture();
  const sessions = store.sessions().map(({ id, project, messageCount }) => ({ id, project, messageCount }));
  expect(sessions).toHaveLength(4);
  expect(sessions).toEqual(
    expect.arrayContaining([
      { id: "harbor-pilot", project: "harbor", messageCount: 35 },
      { id: "log-7", project: "harbor", messageCount: 2 },
      { id: "log-7-a", project: null, messageCount: 1 },
      { id: "empty", project: null, messageCount: 0 },
    ]),
  );
  expect(
    store.query("SELECT id, parent_session_id AS parent FROM sessions WHERE parent_session_id IS NOT NULL"),
  ).toEqual([{ id: "log-7-a", parent: "log-7" }]);
});

test("messages are word for word what was appended", () => {
  const messages = openFixture().resume("harbor-pilot").messages();
  expect(messages.map(({ seq }) => seq)).toEqual([...Array(35).keys()]);
  expect(messages[1]).toMatchObject({ role: "user", name: "Ines", pinned: true });
  expect(messages[3]!.parts).toEqual([
    { type: "reasoning", text: "The almanac has it, if the file can be read." },
    { type: "tool_call", toolCallId: "call_0", name: "read_file", args: { path: "tides/March 2.txt" } },
  ]);
  expect(messages[4]!.parts).toEqual([
    { type: "tool_result", toolCallId: "call_0", content: "March 2 04:10 5.0 m\n".repeat(1_200) },
  ]);
  expect(messages[34]!.parts).toEqual([
    { type: "text", text: "Half a surrogate \ud83d, a NUL \0, and a flag 🏴‍☠️ are kept as they came." },
  ]);
  expect(openFixture().resume("log-7").messages()[0]).toMatchObject({ externalId: "m-1", metadata: { page: 12 } });
});

test("facts, log and derived rows agree, and the derived ones can be made again", () => {
  const store = openFixture();
  expect(store.verify()).toMatchObject({ ok: true, sessionCount: 4, messageCount: 38, unionCount: 29 });
  expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 3 });
  expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
});

test("a context shows what is pinned, the summaries that stood, and the newest words", () => {
  const context = openFixture().resume("harbor-pilot").render({ tokensMax: 4_000 });
  const text = JSON.stringify(context.messages);
  expect(text).toContain("Never move the buoy at the north mole.");
  expect(text).toContain("the tax for the hull of the tender");
  expect(text).toContain("are kept as they came.");
  expect(context.tokenCount).toBeLessThanOrEqual(4_000);
});

test("its conversation goes on, and what was imported is not imported twice", () => {
  const store = openFixture();
  const session = store.resume("harbor-pilot");
  for (let count = 0; count < 20; count++)
    session.append({ role: "user", content: `The tide turns for the ${count}. time.` });
  expect(session.info().messageCount).toBe(55);
  expect(
    store.resume("log-7").append({ role: "assistant", content: "Four meters and a half at low water.", id: "m-2" }),
  ).toMatchObject({
    seq: 1,
    appended: false,
  });
  expect(store.verify().ok).toBe(true);
});
