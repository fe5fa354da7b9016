import { Client } from "pg";
import { expect, onTestFinished, vi } from "vitest";
import { startHub } from "../../scripts/hub/server.ts";
import { initHub } from "../../src/hub/administration.ts";
import { follow } from "../../src/hub/index.ts";
import { openedConnection, openedHub, run, saidIn, talkOf, test } from "../support/hub.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const WEB = { projects: ["web"] };

/** Leaves out the time before the last sync that is asked for again, so that a lag of a moment is one that is longer. */
function withoutOverlap(): void {
  const query = Client.prototype.query as (...args: unknown[]) => unknown;
  vi.spyOn(Client.prototype, "query").mockImplementation(function (this: Client, sql: unknown, values: unknown) {
    const rest = Array.isArray(values) ? [values.map((one) => (one === "10 minutes" ? "0" : one))] : [];
    return query.call(this, sql, ...rest);
  } as never);
  onTestFinished(() => void vi.restoreAllMocks());
}

test("who follows through a replica that lags gets everything in the end, and loses nothing meanwhile", async () => {
  const server = await startHub({ isDurable: false });
  onTestFinished(() => server.remove());
  await initHub(await openedConnection(server.url), "web", true);
  const replica = await server.replicate();
  const [hub, lagging] = [await openedHub(server.url), await openedHub(replica)];
  const [home, away] = [temporaryStore(), temporaryStore()];
  const replayed = async (): Promise<void> => {
    const [{ at }] = (await run(server.url, "SELECT pg_current_wal_lsn() AS at")) as [{ at: string }];
    const isThere = () => run(replica, "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS is", [at]);
    await expect.poll(isThere, { timeout: 30_000 }).toEqual([{ is: true }]);
  };
  const idsOf = () => away.sessions().map(({ id }) => id);
  withoutOverlap();

  for (const id of ["one", "two"]) home.session(id, { project: "web" }).append(talkOf(6, id));
  follow(away, "web");
  expect(await lagging.sync(away)).toMatchObject({ sessionCount: 0, refused: [] }); // it has got no transaction yet
  await hub.push(home, WEB);
  await replayed();
  expect(await lagging.sync(away)).toMatchObject({ messageCount: 12 });
  expect(await lagging.everywhere("deploy")).toHaveLength(10);

  await run(replica, "SELECT pg_wal_replay_pause()");
  home.session("late", { project: "web" }).append(talkOf(3, "late"));
  home.resume("one").append(talkOf(2, "late"));
  await hub.push(home, WEB);
  expect(await lagging.sync(away)).toMatchObject({ messageCount: 0 });
  await run(replica, "SELECT pg_wal_replay_resume()");
  await replayed();
  expect(await lagging.sync(away)).toMatchObject({ messageCount: 5 });

  // The server itself knows more than the replica, and that is not taken back.
  await run(replica, "SELECT pg_wal_replay_pause()");
  home.resume("one").append(talkOf(2, "later"));
  home.session("new", { project: "web" }).append(talkOf(3, "new"));
  home.forget("two");
  await hub.push(home, WEB);
  expect(await hub.sync(away)).toMatchObject({ messageCount: 5, forgotten: ["two"] });
  for (let count = 0; count < 2; count += 1) {
    expect(await lagging.sync(away)).toMatchObject({ sessionCount: 0, forgotten: [], refused: [] });
    expect(idsOf().sort()).toEqual(["late", "new", "one"]);
  }
  const onlyRead = { code: "HUB_REFUSED", message: expect.stringContaining("replica") };
  await expect(lagging.push(home, WEB)).rejects.toMatchObject(onlyRead);
  await expect(lagging.pull(away, "one", { take: true })).rejects.toMatchObject(onlyRead);

  await run(replica, "SELECT pg_wal_replay_resume()");
  home.forget("late");
  await hub.push(home, WEB);
  await replayed();
  expect(await lagging.sync(away)).toMatchObject({ forgotten: ["late"], refused: [] });
  for (const id of idsOf()) expect(saidIn(away, id)).toEqual(saidIn(home, id));
  expect(idsOf()).toHaveLength(2);
  const third = temporaryStore();
  await lagging.pull(third, "one");
  expect(saidIn(third, "one")).toEqual(saidIn(home, "one"));
});
