import assert from "node:assert/strict";
import { CoppiceSessionService } from "../../src/frameworks/adk.ts";
import { CoppiceChats } from "../../src/frameworks/ai-sdk.ts";
import { CoppiceSessionStore } from "../../src/frameworks/claude-agent-sdk.ts";
import { CoppiceSaver } from "../../src/frameworks/langgraph.ts";
import { CoppiceSession } from "../../src/frameworks/openai-agents.ts";
import type { Store } from "../../src/index.ts";
import { SHARED } from "./adk-work.ts";
import { CHAT_ID } from "./ai-sdk-work.ts";
import { KEY } from "./claude-agent-sdk-work.ts";
import type { WorkOptions } from "./framework-process.ts";
import { THREAD, type Values } from "./langgraph-work.ts";
import { SESSION_ID } from "./openai-agents-work.ts";

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
  "ai-sdk": async (store) => {
    const messages = new CoppiceChats(store).loadMessages(CHAT_ID);
    assert.equal(rowsOf(store, "messages"), messages.length);
    return messages.length;
  },
  "openai-agents": async (store) => {
    const items = await new CoppiceSession(store, { sessionId: SESSION_ID }).getItems();
    // A first try has one operation. A second has another, and has replaced the first.
    const operations = items.map((item) => (JSON.stringify(item).includes("try 2") ? 2 : 1));
    assert.equal(
      rowsOf(store, "items"),
      operations.reduce<number>((sum, count) => sum + count, 0),
    );
    return items.length;
  },
  "claude-agent-sdk": async (store) => {
    const entries = (await new CoppiceSessionStore(store).load(KEY)) ?? [];
    assert.equal(entries.filter(({ uuid }) => uuid !== undefined).length, entries.length / 2);
    assert.equal(rowsOf(store, "messages"), entries.length / 2);
    return entries.length / 2;
  },
};

function rowsOf(store: Store, table: string): unknown {
  return store.query(`SELECT count(*) AS found FROM ${table}`)[0]!.found;
}
