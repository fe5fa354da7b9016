import { expect, test } from "vitest";
import { CoppiceSaver } from "../../src/frameworks/langgraph.ts";
import type { Store } from "../../src/index.ts";
import { workElsewhere } from "../support/framework-process.ts";
import { THREAD, type Values } from "../support/langgraph-work.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

/** Expects that every part of what was put is there. @returns how many checkpoints there are. */
async function expectWhole(store: Store): Promise<number> {
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  const saver = new CoppiceSaver(store);
  let count = 0;
  for await (const { checkpoint } of saver.list(THREAD)) {
    const { messages, notes } = checkpoint.channel_values as unknown as Values;
    expect([messages.length, notes]).toEqual([checkpoint.channel_versions.messages, checkpoint.channel_versions.notes]);
    count += 1;
  }
  const [{ found } = { found: 0 }] = store.query("SELECT count(*) AS found FROM items") as { found: number }[];
  expect(found).toBe(3 * count); // a checkpoint, and a value of each of two channels
  return count;
}

/**
 * Goal: a `put` that a kill interrupts is stored as a whole or not at all, with its values and its recallable message.
 * Method: a process puts some checkpoints, and dies before one of the statements of the next. `npm run crash -- --frameworks` does
 * this before every statement, and many times.
 */
test("promise 1: a checkpoint of LangGraph is put whole, or nothing of it, when the process is killed", async () => {
  const path = temporaryPath();
  let count = 0;
  for (const dyingStatement of [2, 4, 6, 8]) {
    const { done, isKilled } = await workElsewhere({
      framework: "langgraph",
      path,
      name: `p${dyingStatement}`,
      count: 2,
      dyingStatement,
    });
    expect({ done, isKilled }).toEqual({ done: 2, isKilled: true });
    const store = openedStore(path);
    const found = await expectWhole(store);
    expect(found).toBe(count + done); // it died before the commit
    expect(store.resume("langgraph:shared").messages()).toHaveLength(found);
    count = found;
    store.close();
  }
});

test("two processes put 200 checkpoints each into one thread, and none is lost", async () => {
  const path = temporaryPath();
  const names = ["ada", "bob"];
  await Promise.all(names.map((name) => workElsewhere({ framework: "langgraph", path, name, count: 200 })));
  const store = openedStore(path);
  expect(await expectWhole(store)).toBe(400);
  const texts = store
    .resume("langgraph:shared")
    .messages()
    .map(({ text }) => text);
  const said = names.flatMap((name) => Array.from({ length: 200 }, (_, number) => `${name} says ${number}`));
  expect(texts.toSorted()).toEqual(said.toSorted());
});
