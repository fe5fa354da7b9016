import { expect, test } from "vitest";
import { assistant, calls, results, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const SMALL = { hotSize: 4, overlap: 0, evictBatch: 2 };

test("a pinned message stays in every context, and an unpinned one leaves with the others", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s", SMALL);
  const other = openedStore(path).resume("s");
  session.append(user("The password of the gate is swordfish."));
  const { messageId } = session.append(user("Never push to main."));
  expect(other.render({ tokensMax: 4_000 }).messages).toHaveLength(2);
  session.pin(messageId);
  for (let count = 0; count < 20; count++) session.append(assistant(`Answer ${count}, about something else entirely.`));
  for (const reader of [session, other]) {
    const { sources, omitted } = reader.render({ tokensMax: 4_000 });
    expect(sources[0]).toMatchObject({ how: "verbatim", messageId });
    expect([...sources, ...omitted].reduce((sum, { messageCount }) => sum + messageCount, 0)).toBe(22);
  }
  expect(store.query("SELECT count(*) AS n FROM unions WHERE node = 2")).toEqual([{ n: 0 }]);
  expect(store.verify()).toMatchObject({ ok: true });
  const newest = session.append(user("Keep this, too.")).messageId;
  session.pin(newest);
  session.pin(newest, { pinned: false });
  for (let count = 0; count < 10; count++) session.append(assistant(`Later ${count}.`));
  expect(store.query(`SELECT kind FROM unions WHERE node = ${newest} AND kind IN ('start', 'join')`)).toHaveLength(1);
  expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, problemCount: 0 });
});

test("a call is pinned with its results, and a step with an open call takes its later results along", () => {
  const store = openedStore(temporaryPath());
  const session = store.session("s", SMALL);
  session.append(calls(["a", "b"]));
  session.pin(session.append(results(["a"])).messageId);
  session.append(results(["b"]));
  expect(session.messages().map(({ pinned }) => pinned)).toEqual([true, true, true]);
  expect(store.verify()).toMatchObject({ ok: true });
});

test("messages of the forest, system messages and strangers are refused, and nothing changes", () => {
  const store = openedStore(temporaryPath());
  const session = store.session("s", SMALL);
  const system = session.append({ role: "system", content: "Be brief." }).messageId;
  const cold = session.append(user("long ago")).messageId;
  for (let count = 0; count < 20; count++) session.append(assistant(`Answer ${count}.`));
  const stranger = store.session("t").append(user("elsewhere")).messageId;
  const refused = (code: string) => expect.objectContaining({ code });
  expect(() => session.pin(cold)).toThrow(refused("OPTION_INVALID"));
  expect(() => session.pin(system, { pinned: false })).toThrow(refused("OPTION_INVALID"));
  expect(() => session.pin(stranger)).toThrow(refused("MESSAGE_NOT_FOUND"));
  expect(() => session.pin(0.5)).toThrow(refused("OPTION_INVALID"));
  session.pin(system);
  expect(session.messages().filter(({ pinned }) => pinned)).toHaveLength(1);
  expect(store.verify()).toMatchObject({ ok: true });
});
