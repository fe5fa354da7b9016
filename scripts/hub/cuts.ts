import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { follow, type Hub, openHub } from "../../src/hub/index.ts";
import { openStore, type Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { storeIdOf } from "../../src/store/changes/id-blocks.ts";
import { type Cut, CuttingProxy } from "../../test/support/cutting-proxy.ts";

const PROJECT = "cuts";

let runCount = 0;

export interface CutFigures {
  /** Connections that were cut, before a statement or after it and before its answer. */
  cuts: number;
  /** What was not right afterwards, in words. */
  wrong: string[];
}

/** What is done while the connection is cut. */
interface Work {
  /** Brings a new session into the state before. */
  prepare?(one: Places): Promise<void>;
  run(one: Places): Promise<unknown>;
  /** Yields what is wrong afterwards. */
  check(one: Places): AsyncGenerator<string>;
}

/** A session, its store, and another store. */
interface Places {
  /** Of a superuser, who may read the tables of the team. */
  url: string;
  team: string;
  id: string;
  home: Store;
  away: Store;
  /** By way of the proxy. */
  hub: Hub;
}

export const WORKS = {
  "push of a new session": {
    run: async ({ hub, home, id }) => {
      append(home, id, 12);
      await hub.push(home, { sessions: [id] });
    },
    check: onHub,
  },
  "push of a session that was rewound, forgotten in part and continued": {
    prepare: async ({ hub, home, id }) => {
      append(home, id, 12);
      await hub.push(home, { sessions: [id] });
      const session = home.session(id);
      session.rewind({ toSeq: 6 });
      home.forget(id, { messageIds: [session.messages()[2]!.id] });
      append(home, id, 2);
    },
    run: ({ hub, home, id }) => hub.push(home, { sessions: [id] }),
    check: onHub,
  },
  "pull of a new session": {
    prepare: pushed,
    run: ({ hub, away, id }) => hub.pull(away, id),
    check: (one) => pulled(one, { isTaken: false }),
  },
  "sync of a followed project, of which a session was forgotten": {
    prepare: async (one) => {
      follow(one.away, PROJECT);
      one.home.session(goneOf(one), { project: PROJECT });
      await pushed({ ...one, id: goneOf(one) });
      await pushed(one);
      await one.hub.sync(one.away);
      append(one.home, one.id, 12);
      one.home.forget(goneOf(one));
      await one.hub.push(one.home, { sessions: [one.id] });
    },
    run: ({ hub, away }) => hub.sync(away),
    check: async function* (one) {
      yield* pulled(one, { isTaken: false });
      if (one.away.sessions().some(({ id }) => id === goneOf(one))) yield "the store still has what was forgotten";
    },
  },
  "pull that takes a session which both stores have, and goes on": {
    prepare: async (one) => {
      await pushed(one);
      await one.hub.pull(one.away, one.id);
      await pushed(one);
    },
    run: ({ hub, away, id }) => hub.pull(away, id, { take: true }),
    check: (one) => pulled(one, { isTaken: true }),
  },
} satisfies Record<string, Work>;

/**
 * Breaks the connection before and after each statement of a push or a pull, once for each of them, and looks whether the hub and the
 * store then have what they should have. So it is with the answer to COMMIT.
 *
 * @param url  Of a superuser of a hub who is in the team and no other.
 * @param every  Leaves statements out: 2 takes every second one.
 */
export async function cutEverywhere(
  { url, team }: { url: string; team: string },
  name: keyof typeof WORKS,
  every = 1,
): Promise<CutFigures> {
  const work: Work = WORKS[name];
  const folder = mkdtempSync(join(tmpdir(), "coppice-cuts-"));
  const proxy = new CuttingProxy(url);
  const hub = await openHub(await proxy.listen());
  const [home, away] = [openStore(join(folder, "home.db")), openStore(join(folder, "away.db"))];
  const figures: CutFigures = { cuts: 0, wrong: [] };
  const run = ++runCount;
  const isCutAt = async (cut?: Cut): Promise<boolean> => {
    const id = `${name} ${run}, ${cut === undefined ? "uncut" : `cut ${cut.side} statement ${cut.statement}`}`;
    const one = { url, team, id, home, away, hub };
    proxy.cutAt(undefined);
    home.session(id, { project: PROJECT });
    await work.prepare?.(one);
    proxy.cutAt(cut);
    await work.run(one);
    const isCut = cut !== undefined && !proxy.isArmed;
    proxy.cutAt(undefined);
    for await (const problem of work.check(one)) figures.wrong.push(`${id}: ${problem}`);
    return isCut;
  };
  try {
    await isCutAt();
    for (const side of ["before", "after"] as const) {
      for (let statement = every; await isCutAt({ side, statement }); statement += every) figures.cuts += 1;
    }
    for (const store of [home, away]) if (!store.verify().ok) figures.wrong.push(`${name}: a store is not sound`);
    return figures;
  } finally {
    await hub.close();
    await proxy.close();
    for (const store of [home, away]) store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function goneOf({ id }: Places): string {
  return `${id} (forgotten)`;
}

async function pushed({ hub, home, id }: Places): Promise<void> {
  append(home, id, 12);
  await hub.push(home, { sessions: [id] });
}

async function* onHub({ url, team, home, hub, id }: Places): AsyncGenerator<string> {
  const reader = openStore(":memory:");
  await hub.pull(reader, id);
  const lines = saidIn(home, id);
  if (lines.length < 2 || saidIn(reader, id).join("\n") !== lines.join("\n")) yield "the hub has something else";
  reader.close();
  if ((await rowsOf(url, team, id)).length !== 1) yield "the hub does not have it once";
}

async function* pulled(
  { url, team, home, away, hub, id }: Places,
  { isTaken }: { isTaken: boolean },
): AsyncGenerator<string> {
  const [lines, there] = [home, away].map((store) => saidIn(store, id));
  if (lines!.length < 2 || there!.join("\n") !== lines!.join("\n")) yield "the store has something else";
  const [row] = await rowsOf(url, team, id);
  const holder = storeIdOf(internalsOf(isTaken ? away : home).repositories);
  if (row?.holder !== holder) yield "the wrong store may push it";
  if (!isTaken) return;
  append(away, id, 1);
  const { messageCount, moved } = await hub.push(away, { sessions: [id] });
  if (messageCount !== 1 || moved.length > 0) yield "it does not go on";
}

async function rowsOf(url: string, team: string, id: string): Promise<{ holder: string }[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const sql = `SELECT holder FROM coppice_${team}.sessions WHERE session_id = $1`;
    return (await client.query<{ holder: string }>(sql, [id])).rows;
  } finally {
    await client.end();
  }
}

/** What the messages of a session say, in their places. */
export function saidIn(store: Store, id: string): string[] {
  const messages = store.resume(id).messages();
  return messages.map(({ role, parts, createdAtMs }) => JSON.stringify({ role, parts, createdAtMs }));
}

function append(store: Store, id: string, count: number): void {
  store
    .resume(id)
    .append(Array.from({ length: count }, (_, index) => ({ role: "user", content: `message ${index} of ${id}` })));
}
