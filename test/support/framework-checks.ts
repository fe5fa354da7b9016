import assert from "node:assert/strict";
import { CoppiceSessionService } from "../../src/frameworks/adk.ts";
import { CoppiceSaver } from "../../src/frameworks/langgraph.ts";
import type { Store } from "../../src/index.ts";
import { SHARED } from "./adk-work.ts";
import type { WorkOptions } from "./framework-process.ts";
import { THREAD, type Values } from "./langgraph-work.ts";

/** Asserts that every piece of work in a store is there with all of its parts. @returns how many there are. */
export const COUNT_WHOLE: Record<WorkOptions["framework"], (store: Store) => Promise<number>> = {
  langgraph: async (store) => {
    const saver = new CoppiceSaver(store);
    let count = 0;
    for await (const { checkpoint } of saver.list(THREAD)) {
      const { messages, notes } = checkpoint.channel_values as unknown as Values;
      assert.deepEqual({ messages: messages.length, notes }, checkpoint.channel_versions);
      count += 1;
    }
    assert.equal(rowsOf(store, "items"), 3 * count); // a checkpoint, and the values of two channels
    assert.equal(rowsOf(store, "messages"), count);
    return count;
  },
  adk: async (store) => {
    const { events, state } = (await new CoppiceSessionService(store).getSession(SHARED))!;
    const keys = events.flatMap(({ actions }) => Object.keys(actions.stateDelta));
    assert.deepEqual(Object.keys(state).sort(), keys.sort());
    assert.equal(rowsOf(store, "messages"), events.length);
    return events.length;
  },
};

function rowsOf(store: Store, table: string): unknown {
  return store.query(`SELECT count(*) AS found FROM ${table}`)[0]!.found;
}
