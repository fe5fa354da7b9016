import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { openHub } from "../../src/hub/index.ts";
import { openStore, type Store } from "../../src/index.ts";
import { withProgress } from "../progress.ts";
import { type Conversation, readConversations } from "./conversations.ts";
import { inFolder } from "./folder.ts";
import { seen } from "./rows.ts";

/** How many messages each moved session goes on with, and the time of the first. */
const MORE = 50;
const MORE_AT = Date.UTC(2030, 0, 1);
const PROJECTS = Array.from({ length: 3 }, (_, index) => `moved-${index}`);
const APPENDED_AT_ONCE = 200;

/**
 * Pushes all sessions of `entire/` and `transcripts/` from one store, and pulls each into a new store and into one with sessions of its
 * own. Each goes on with fifty messages in the new store, is taken by the other one, goes on there with fifty more, and comes back.
 *
 * @returns `sessionsMoved`: sessions that came each time. `sessionsIdentical`: those that were each time the same byte for byte in
 *   both stores, as `eval -- rows` compares them. `verifyProblems`: of all three stores, at the end.
 */
export async function moveSessions(url: string, dataFolder: string): Promise<Record<string, number>> {
  const conversations = await readConversations(dataFolder);
  const [moved, differing] = [new Set<string>(), new Set<string>()];
  let verifyProblems = 0;
  await inFolder(async (folder) => {
    const open = (name: string): Store => openStore(join(folder, `${name}.db`));
    const stores = [open("home"), open("fresh"), open("busy")] as const;
    const [home, fresh, busy] = stores;
    for (const [index, { id, messages }] of conversations.entries()) {
      home.session(id, { project: PROJECTS[index % PROJECTS.length]! });
      append(home, id, messages);
    }
    for (const _ of busy.export({ rows: true, sessions: [], ownIds: true }));
    for (const { id, messages } of conversations.slice(0, 10)) {
      busy.session(`own-${id}`, { project: PROJECTS[1]! });
      append(busy, `own-${id}`, messages.slice(0, 300));
    }
    const hub = await openHub(url);
    await hub.push(home, { projects: PROJECTS });
    const isSame = (left: Store, right: Store, id: string): boolean =>
      isDeepStrictEqual(seen(left, id), seen(right, id));
    const more = moreOf(conversations[0]!);
    for (const { id } of withProgress("sessions", conversations)) {
      const goOn = async (store: Store): Promise<void> => {
        append(store, id, more);
        await hub.push(store, { sessions: [id] });
      };
      const outcomes = [(await hub.pull(fresh, id, { take: true })).outcome, (await hub.pull(busy, id)).outcome];
      const same = [isSame(fresh, home, id), isSame(busy, home, id)];
      await goOn(fresh);
      outcomes.push((await hub.pull(busy, id, { take: true })).outcome);
      same.push(isSame(busy, fresh, id));
      await goOn(busy);
      outcomes.push((await hub.pull(home, id)).outcome);
      same.push(isSame(home, busy, id));
      if (outcomes.join() === "new,new,continued,continued") moved.add(id);
      if (same.includes(false)) differing.add(id);
    }
    await hub.close();
    for (const store of stores) {
      await store.upkeep();
      verifyProblems += store.verify().problemCount;
      store.close();
    }
  });
  for (const id of differing) console.error(`${id} differs`);
  const sessionsIdentical = [...moved].filter((id) => !differing.has(id)).length;
  return { sessionsMoved: moved.size, sessionsIdentical, verifyProblems };
}

function append(store: Store, id: string, messages: Conversation["messages"]): void {
  const session = store.resume(id);
  for (let from = 0; from < messages.length; from += APPENDED_AT_ONCE) {
    session.append(messages.slice(from, from + APPENDED_AT_ONCE));
  }
}

function moreOf({ messages }: Conversation): Conversation["messages"] {
  return messages.slice(0, MORE).map(({ role, content, parts }, index) => {
    const createdAt = MORE_AT + index * 1_000;
    return { role, createdAt, ...(content !== undefined ? { content } : { parts: parts! }) };
  });
}
