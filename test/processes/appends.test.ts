import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type MessageInput, openStore } from "../../src/index.ts";
import { runs, slow } from "../support/effort.ts";
import { derivedRows } from "../support/rows.ts";
import { inputOf, talk, user } from "../support/said.ts";
import { openedStore, temporaryFolder, temporaryPath } from "../support/temporary-store.ts";
import { WorkerPool } from "../support/worker-pool.ts";
import type { Outcome, WorkerProcess } from "../support/worker-process.ts";

const SMALL = { hotSize: 6, overlap: 2, evictBatch: 6, maxThemes: 3, openClustersMax: 4 };
const pool = new WorkerPool(4);

/** Messages about a few subjects, each with the name of who says it. */
function saidBy(name: string, count: number): MessageInput[] {
  return talk(count).map((message) => user(`${name}: ${message.content}`));
}

function seqsOf(outcomes: readonly Outcome[]): number[] {
  return outcomes.map(({ value }) => value[0].seq);
}

/** Each process appends what one person says to the same session, one message at a time. */
function sayAtOnce(workers: readonly WorkerProcess[], names: readonly string[], count: number): Promise<Outcome[][]> {
  return Promise.all(
    workers.map((worker, index) =>
      worker.run(
        saidBy(names[index]!, count).map((message) => {
          return { do: "append", session: "s", settings: SMALL, messages: [message] };
        }),
      ),
    ),
  );
}

describe("processes on one file", () => {
  test("make it at the same moment, and all have it", async () => {
    const folder = temporaryFolder();
    for (let file = 0; file < runs(8); file++) {
      const path = join(folder, `${file}.db`);
      const workers = await pool.on(path, 4);
      const appends = workers.map((worker) => worker.do({ do: "append", session: "s", messages: [user("hello")] }));
      const seqs = (await Promise.all(appends)).map(([{ seq }]) => seq);
      expect(seqs.toSorted()).toEqual([0, 1, 2, 3]);
    }
  });

  test("append to one session: each message is where its writer was told, and no place is left out", async () => {
    const path = temporaryPath();
    const names = ["ada", "bob", "cleo", "dan"];
    const workers = await pool.on(path, 4);
    const outcomes = await sayAtOnce(workers, names, 60);
    const store = openedStore(path);
    const messages = store.resume("s").messages();
    expect(messages.map(({ seq }) => seq)).toEqual(Array.from({ length: 240 }, (_, seq) => seq));
    names.forEach((name, index) => {
      const seqs = seqsOf(outcomes[index]!);
      expect(seqs.map((seq) => messages[seq]!.text)).toEqual(saidBy(name, 60).map(({ content }) => content));
      expect(seqs).toEqual(seqs.toSorted((left, right) => left - right));
    });
    expect(store.verify()).toMatchObject({ ok: true, messageCount: 240, problems: [] });
    const speakers = messages.map(({ text }) => text.split(":")[0]);
    const turns = speakers.filter((speaker, index) => index > 0 && speaker !== speakers[index - 1]).length;
    expect(turns).toBeGreaterThan(8); // they were at it together: one after another would be 3
  });

  test("write the forest that one process alone would have written", async () => {
    const [shared, single] = [temporaryPath(), temporaryPath()];
    const workers = await pool.on(shared, 3);
    await sayAtOnce(workers, ["w0", "w1", "w2"], 40);
    const store = openedStore(shared);
    const alone = openStore(single);
    const session = alone.session("s", SMALL);
    for (const message of store.resume("s").messages()) session.append(inputOf(message));
    alone.close();
    expect(derivedRows(shared)).toEqual(derivedRows(single));
  });

  /**
   * Goal: who reads while others write sees a session that existed: whole batches, nothing that goes away again.
   * Method: two processes append batches of three; a third reads and renders all the while, and so does a read-only
   * store in this process.
   */
  slow(test)("read while others write: whole batches only, and never fewer than before", async () => {
    const path = temporaryPath();
    openedStore(path).session("s", SMALL);
    const [reader, ...writers] = await pool.on(path, 3);
    const counts: number[][] = [[], []];
    const here = openedStore(path, { readonly: true }).resume("s");
    const look = async () => {
      counts[0]!.push((await reader!.do({ do: "messages", session: "s" })).length);
      const { sources, omitted } = here.render({ tokensMax: 2_000 });
      counts[1]!.push([...sources, ...omitted].reduce((sum, { messageCount }) => sum + messageCount, 0));
    };
    for (let batch = 0; batch < 40; batch++) {
      const writing = writers.map((worker, index) =>
        worker.do({ do: "append", session: "s", messages: saidBy(`w${index} ${batch}`, 3) }),
      );
      await look(); // while they write
      await Promise.all(writing);
    }
    await look();
    for (const its of counts) {
      expect(its.filter((count) => count % 3 !== 0)).toEqual([]);
      expect(its).toEqual(its.toSorted((left, right) => left - right));
      expect(new Set(its).size).toBeGreaterThan(20); // each look but every second sees what the one before it did not
    }
    expect(here.messages()).toHaveLength(240);
  });

  test("catch up: after any of them has written, all render the same bytes", async () => {
    const path = temporaryPath();
    const workers = await pool.on(path, 3);
    let composed = 0;
    for (const [index, message] of talk(45).entries()) {
      const writer = workers[index % 3]!;
      await writer.do({ do: "append", session: "s", settings: SMALL, messages: [message] });
      if (index % 15 === 14) await workers[(index + 1) % 3]!.do({ do: "resolve", session: "s" });
      if (index === 40) await writer.do({ do: "compact", session: "s" });
      if (index % 5 !== 4 && index < 38) continue;
      const renders = await Promise.all(
        workers.map((worker) => worker.do({ do: "render", session: "s", tokensMax: 1_200 })),
      );
      const fresh = openStore(path, { readonly: true });
      const expected = JSON.stringify(fresh.resume("s").render({ tokensMax: 1_200 }));
      fresh.close();
      expect(renders.map((render) => JSON.stringify(render))).toEqual([expected, expected, expected]);
      composed = Math.max(composed, renders[0].composed.length);
    }
    expect(composed).toBeGreaterThan(0); // a memory message was shown, not only the window
  });
});

describe("an append that expects a place", () => {
  test("goes through for exactly one of those who expect the same", async () => {
    const path = temporaryPath();
    openedStore(path).session("s");
    const workers = await pool.on(path, 4);
    for (let round = 0; round < 10; round++) {
      for (const worker of workers) await worker.do({ do: "render", session: "s", tokensMax: 5_000 });
      const outcomes = await Promise.all(
        workers.map((worker, index) =>
          worker.run([{ do: "append", session: "s", messages: [user(`${round} of ${index}`)], expecting: true }]),
        ),
      );
      const codes = outcomes.map(([outcome]) => outcome!.error?.code ?? "appended");
      expect(codes.toSorted()).toEqual(["SESSION_CHANGED", "SESSION_CHANGED", "SESSION_CHANGED", "appended"]);
    }
    expect(openedStore(path).resume("s").messages()).toHaveLength(10);
  });

  test("write messages, entries and items atomically: none is lost, and all agree", async () => {
    const path = temporaryPath();
    const workers = await pool.on(path, 2);
    const outcomes = await Promise.all(
      workers.map((worker, index) =>
        worker.run(saidBy(`w${index}`, 60).map((message) => ({ do: "atomically", session: "s", message }))),
      ),
    );
    const store = openedStore(path);
    const counts = outcomes.flat().map(({ value }) => value.count as number);
    expect(counts.toSorted((left, right) => left - right)).toEqual(Array.from({ length: 120 }, (_, n) => n + 1));
    expect(store.resume("s").messages()).toHaveLength(120);
    expect(store.items.get(["test"], "count")?.value).toBe(120);
    expect(store.items.list(["test", "seqs"])).toHaveLength(120);
    const entries = store.resume("s").entries.list();
    expect(entries.map(({ beforeSeq, value }) => [beforeSeq, value])).toEqual(
      Array.from({ length: 120 }, (_, seq) => [seq + 1, { seq, count: seq + 1 }]),
    );
  });
});
