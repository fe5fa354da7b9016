import { deflateRawSync } from "node:zlib";
import { expect } from "vitest";
import { follow } from "../../src/hub/index.ts";
import { hubWithStores, run, talkOf, test } from "../support/hub.ts";

const bodyOf = (value: unknown): Buffer => Buffer.concat([Buffer.of(1), deflateRawSync(JSON.stringify(value))]);
const said = (message: object): object => ({ message: { createdAtMs: 1, ...message } });
const deep = `${'{"a":'.repeat(500)}1${"}".repeat(500)}`;

test.each<[string, Buffer]>([
  ["another form", Buffer.of(9, 1, 2)],
  ["no bytes", Buffer.alloc(0)],
  ["what cannot be inflated", Buffer.of(1, 255, 255)],
  ["no list", bodyOf({ message: {} })],
  ["an unknown event", bodyOf([{ dropped: 1 }])],
  ["a rewind to nowhere", bodyOf([{ keep: -1 }])],
  ["a message without a role", bodyOf([said({ parts: [] })])],
  ["a message of a wrong role", bodyOf([said({ role: "root", parts: [] })])],
  [
    "a message that is nested too deep",
    bodyOf([said({ role: "user", parts: [{ type: "data", data: JSON.parse(deep) }] })]),
  ],
  ["a message without a time", bodyOf([{ message: { role: "user", parts: [] } }])],
  ["a time that no message has", bodyOf([said({ role: "user", parts: [], createdAtMs: 1e300 })])],
])("%s in the log of a session is named, and the others come", async (_, body) => {
  const { url, hub, home, away } = await hubWithStores();
  for (const id of ["bad", "good"]) home.session(id, { project: "web" }).append(talkOf(3, id));
  await hub.push(home, { projects: ["web"] });
  await run(url, "UPDATE coppice_test.sessions SET length = length + 1 WHERE session_id = 'bad'");
  await run(
    url,
    "INSERT INTO coppice_test.log SELECT session_no, 3, $1 FROM coppice_test.sessions WHERE session_id = 'bad'",
    [body],
  );
  follow(away, "web");
  const { refused } = await hub.sync(away);
  expect(refused).toMatchObject([{ sessionId: "bad" }]);
  expect(away.resume("good").messages()).toHaveLength(3);
  expect(away.resume("bad").messages()).toHaveLength(3);
  expect(away.verify().ok).toBe(true);
  expect((await hub.sync(away)).refused).toHaveLength(1);
});

test("a head that is no head is named, and a row of the log that is missing, too", async () => {
  const { url, hub, home, away } = await hubWithStores();
  for (const id of ["bad", "gap"]) home.session(id, { project: "web" }).append(talkOf(3, id));
  await hub.push(home, { projects: ["web"] });
  await run(url, "UPDATE coppice_test.sessions SET head = $1 WHERE session_id = 'bad'", [bodyOf({ title: 1 })]);
  await run(
    url,
    "UPDATE coppice_test.log SET n = 2 WHERE session_no = (SELECT session_no FROM coppice_test.sessions WHERE session_id = 'gap')",
  );
  follow(away, null);
  const { refused } = await hub.sync(away);
  expect(refused.map(({ sessionId }) => sessionId).sort()).toEqual(["bad", "gap"]);
});
