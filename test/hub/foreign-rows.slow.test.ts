import { deflateRawSync } from "node:zlib";
import type { PoolClient } from "pg";
import { expect, onTestFinished } from "vitest";
import { HUB_BODY_BYTES_MAX } from "../../src/core/limits.ts";
import { fetchSession } from "../../src/hub/read-session.ts";
import { encodeRows } from "../../src/hub/rows.ts";
import { segmentOf } from "../../src/hub/segment.ts";
import { Spool } from "../../src/hub/spool.ts";
import type { FactRow } from "../../src/store/facts/fact-rows.ts";
import { hubWithStores, openedConnection, openedHub, run, test } from "../support/hub.ts";
import { talk, user } from "../support/said.ts";

// Every member of a team may write rows of the team. What they hold is checked by whoever reads them.

/** A hub with a session of somebody else, and a store that wants it. */
async function pushed() {
  const { url, hub, home: theirs, away: own } = await hubWithStores();
  theirs.session("s", { project: "web" }).append([user("What is the harbor rule?"), ...talk(30)]);
  await hub.push(theirs, { projects: ["web"] });
  return { url, hub, theirs, own };
}

const DAMAGED = {
  "no bytes": Buffer.of(),
  "bytes of an unknown form": Buffer.of(9, 1, 2),
  "bytes that are not deflated": Buffer.from([1, 255, 254, 253]),
  "deflated bytes that are no rows": Buffer.concat([Buffer.of(1), deflateRawSync("null")]),
};

test("a body that inflates to more than any message has is refused", async () => {
  const { url, hub, own } = await pushed();
  const bomb = Buffer.concat([Buffer.of(1), deflateRawSync(Buffer.alloc(HUB_BODY_BYTES_MAX + 1, " "))]);
  await run(url, "UPDATE coppice.messages SET body = $1 WHERE seq = 3", [bomb]);
  await expect(hub.pull(own, "s")).rejects.toMatchObject({
    code: "ROWS_INVALID",
    message: expect.stringContaining(`more than ${HUB_BODY_BYTES_MAX} bytes`),
  });
  expect(own.sessions()).toEqual([]);
});

test("a pull asks for a few megabytes at once, with the vectors", async () => {
  const { url } = await pushed();
  await run(url, "UPDATE coppice.messages SET embedding = $1", [Buffer.alloc(262_144)]);
  const hub = await openedConnection(url);
  const spool = new Spool(":memory:");
  onTestFinished(() => spool.close());
  const answers: number[] = [];
  await hub.transaction(async (client) => {
    const find = 'SELECT place, session_no AS "sessionNo" FROM coppice.sessions';
    const [key] = (await client.query<{ place: number; sessionNo: number }>(find)).rows;
    const query = async (sql: string, values: unknown[]) => {
      const answer = await client.query<Record<string, unknown>>(sql, values);
      const fields = answer.rows.flatMap((row) => Object.values(row));
      answers.push(fields.reduce<number>((sum, field) => sum + (Buffer.isBuffer(field) ? field.length : 0), 0));
      return answer;
    };
    await fetchSession({ query } as unknown as PoolClient, key!, "s", spool);
  });
  expect(answers.reduce((sum, bytes) => sum + bytes)).toBeGreaterThan(31 * 262_144);
  expect(Math.max(...answers)).toBeLessThan(4_500_000);
});

test.each(Object.entries(DAMAGED))("%s: a pull and a search say so", async (_, bytes) => {
  const { url, hub, own } = await pushed();
  await run(url, "UPDATE coppice.messages SET body = $1", [bytes]);
  await expect(hub.pull(own, "s")).rejects.toMatchObject({ code: "ROWS_INVALID" });
  await expect(hub.recall("harbor")).rejects.toMatchObject({ code: "ROWS_INVALID" });
  await run(url, "UPDATE coppice.facts SET body = $1", [bytes]);
  await expect(hub.pull(own, "s")).rejects.toMatchObject({ code: "ROWS_INVALID" });
  expect(own.sessions()).toEqual([]);
});

test("a session cannot bring the rows of another one", async () => {
  const { url, hub, own } = await pushed();
  own.session("mine").append({ role: "user", content: "stays" });
  const id = "mine";
  const [origin] = await run<{ body: Buffer }>(url, "SELECT body FROM coppice.facts WHERE kind = 'origin'");
  expect(origin!.body.length).toBeGreaterThan(0);
  await run(url, "UPDATE coppice.facts SET body = $1 WHERE kind = 'sessions'", [
    encodeRows([{ table: "sessions", row: { id } } as unknown as FactRow]),
  ]);
  await expect(hub.pull(own, "s", { fork: true })).rejects.toMatchObject({ code: "ROWS_INVALID" });
  expect(own.resume("mine").messages()).toHaveLength(1);
});

const DAMAGES = {
  "a head that is cut": "UPDATE coppice.segments SET head = '\\x0102', has_gone = true WHERE segment = $1",
  "a bucket of a large segment that is cut": "UPDATE coppice.buckets SET body = '\\xffff' WHERE segment = $1",
};

test.each(Object.entries(DAMAGES))(
  "%s: searches go on without it and say so, and `keep` makes it again",
  async (_, sql) => {
    const { url, hub, theirs } = await pushed();
    const words = (at: number): string => Array.from({ length: 900 }, (_, index) => `w${at}q${index}`).join(" ");
    theirs.session("long", { project: "web" }).append(Array.from({ length: 60 }, (_, at) => user(words(at))));
    theirs.session("s").append(user("The harbor opens at dawn."));
    await hub.push(theirs, { projects: ["web"] });
    theirs.forget("s", { messageIds: [theirs.session("s").messages()[5]!.id] });
    await hub.push(theirs, { projects: ["web"] });
    const asked = ["harbor dawn", "w17q3", "w59q700 harbor"];
    const answers = () => Promise.all(asked.map((query) => hub.recall(query)));
    const before = await answers();
    expect(before.every((hits) => hits.length > 0)).toBe(true);

    const [segment] = await run<{ segment: string }>(
      url,
      "SELECT segment FROM coppice.segments ORDER BY octet_length(head) + (SELECT coalesce(sum(octet_length(body)), 0) FROM coppice.buckets b WHERE b.segment = segments.segment) DESC LIMIT 1",
    );
    await run(url, sql, [segment!.segment]);
    const other = await openedHub(url); // which has nothing in memory
    const [hit] = await other.recall("harbor dawn w17q3");
    expect(hit).toMatchObject({ partsMissing: true, sessionId: "s" });
    await expect(other.recall("w17q3")).rejects.toMatchObject({
      code: "HUB_REFUSED",
      message: expect.stringContaining("coppice hub keep"),
    });
    expect(await hub.keep()).toMatchObject({ damagedCount: 1 });
    expect(await answers()).toEqual(before);
    expect(await hub.keep()).toMatchObject({ damagedCount: 0 });
  },
);

test("a segment with messages that are not there is named", async () => {
  const { url, hub } = await pushed();
  const message = { sessionNo: 1, messageId: 99_999, seq: 9, role: 1, isCall: false, name: null };
  const { head } = segmentOf({ added: [{ ...message, tokenCount: 1, createdAtMs: 1, stems: ["xyzzi"] }] });
  await run(url, "UPDATE coppice.segments SET head = $1", [head]);
  await expect(hub.recall("xyzzi")).rejects.toMatchObject({ code: "HUB_REFUSED" });
});

test("an expansion reads only the long strings of its messages", async () => {
  const { url, hub, theirs } = await pushed();
  const long = Array.from({ length: 5_000 }, (_, index) => `w${index}`).join(" ");
  theirs.session("long", { project: "web" }).append([user(`lighthouse ${long}`), user(`anchor ${long}`)]);
  await hub.push(theirs, { projects: ["web"] });
  const [hit] = await hub.recall("lighthouse");
  // The other one can be read no more.
  const [other] = theirs.query("SELECT sha256 FROM message_artifacts ORDER BY message_id DESC LIMIT 1");
  await run(url, "UPDATE coppice.artifacts SET body = '\\x09' WHERE encode(sha256, 'hex') = $1", [other!.sha256]);
  const { members } = await hub.expand(hit!, { limit: 1 });
  expect(members).toEqual(theirs.resume("long").messages({ limit: 1 }));
});

test("a segment of one team hides no messages of another", async () => {
  const { url } = await pushed();
  const hub = await openedHub(url); // of a superuser, who sees both teams
  const before = await hub.recall("harbor");
  const [hit] = before;
  const { head } = segmentOf({
    added: [],
    removed: [{ sessionNo: hit!.hubSession, messageId: hit!.messageId }],
    forgottenSessions: [hit!.hubSession],
  });
  await run(url, "INSERT INTO coppice.places (team, project) VALUES ('coppice_team_other', 'web')");
  await run(
    url,
    `INSERT INTO coppice.segments (place, team, level, has_gone, head)
     SELECT place, team, 0, true, $1 FROM coppice.places WHERE team = 'coppice_team_other'`,
    [head],
  );
  expect(await hub.recall("harbor")).toEqual(before);
});
