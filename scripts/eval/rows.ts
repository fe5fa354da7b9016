import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { importRows } from "../../src/imports/import-rows.ts";
import { openStore, type Store, StoreError } from "../../src/index.ts";
import type { Evaluation } from "../eval.ts";
import { withProgress } from "../progress.ts";
import { type Conversation, readConversations } from "./conversations.ts";
import { inFolder } from "./folder.ts";

const BUDGETS = [4_000, 16_000];
const STRATEGIES = ["union-find", "flat", "sandwich"] as const;

/** How many messages each moved session goes on with. */
const MORE = 50;

/**
 * Grows all sessions of `entire/` and `transcripts/` in one store, and moves them as a file of rows into a new store and into one with
 * sessions of its own.
 *
 * - `sessionsMoved`: sessions that came into both stores. `sessionsIdentical`: those that are the same in both: contexts of two budgets
 *   and three strategies with their sources, roots, and the expansions of all roots.
 * - `contextsCompared`, `handlesCompared`: in each of the two stores.
 * - `verifyProblems`: in both stores, after each session got fifty messages more.
 */
export async function evaluateRows(dataFolder: string): Promise<Evaluation> {
  const conversations = await readConversations(dataFolder);
  const figures: Record<string, number> = {};
  await inFolder(async (folder) => {
    const home = openStore(join(folder, "home.db"));
    for (const [index, { id, messages }] of conversations.entries()) {
      const session = home.session(id, { project: `project-${index % 3}` });
      for (let from = 0; from < messages.length; from += 200) session.append(messages.slice(from, from + 200));
    }
    const path = join(folder, "moved.rows");
    const lines = Array.from(home.export({ rows: true }), (line) => `${line}\n`);
    writeFileSync(path, lines.join(""));

    const fresh = openStore(join(folder, "fresh.db"));
    const busy = openStore(join(folder, "busy.db"));
    for (const _ of busy.export({ rows: true, sessions: [], ownIds: true }));
    for (const { id, messages } of conversations.slice(0, 10)) {
      busy.session(`own-${id}`, { project: "project-1" }).append(messages.slice(0, 300));
    }
    const moved = new Map(conversations.map(({ id }) => [id, 0]));
    const identical = new Map(moved);
    const count = (of: Map<string, number>, id: string): void => void of.set(id, (of.get(id) ?? 0) + 1);
    const seenAtHome = new Map(conversations.map(({ id }) => [id, seen(home, id)]));
    let problemCount = 0;
    for (const store of [fresh, busy]) {
      for (const { sessionId, outcome } of importRows(store, path)) if (outcome === "new") count(moved, sessionId);
      for (const { id } of withProgress("sessions", conversations)) {
        if (isDeepStrictEqual(seen(store, id), seenAtHome.get(id))) count(identical, id);
        else console.error(`${id} differs`);
        goOn(store, id, conversations);
      }
      await store.upkeep();
      problemCount += store.verify().problemCount;
    }
    const inBoth = (of: Map<string, number>): number => [...of.values()].filter((times) => times === 2).length;
    figures.messages = home.stats().messageCount;
    figures.fileBytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
    figures.contextsCompared = conversations.length * BUDGETS.length * STRATEGIES.length;
    figures.handlesCompared = [...seenAtHome.values()].reduce((sum, { expanded }) => sum + expanded.length, 0);
    figures.sessionsMoved = inBoth(moved);
    figures.sessionsIdentical = inBoth(identical);
    figures.verifyProblems = problemCount;
    for (const store of [home, fresh, busy]) store.close();
  });
  return { name: "rows", figures };
}

function goOn(store: Store, id: string, conversations: readonly Conversation[]): void {
  const texts = conversations[0]!.messages.slice(0, MORE);
  store
    .resume(id)
    .append(
      texts.map(({ role, content, parts }) => ({ role, ...(content !== undefined ? { content } : { parts: parts! }) })),
    );
}

/** Everything that a reader can see of a session. */
export function seen(store: Store, id: string): { contexts: unknown[]; roots: unknown[]; expanded: unknown[] } {
  const session = store.resume(id);
  const contexts = BUDGETS.flatMap((tokensMax) =>
    STRATEGIES.map((strategy) => orCode(() => session.render({ tokensMax, strategy }))),
  );
  const roots = [...session.roots(), ...session.roots({ level: "cluster" })];
  return { contexts, roots, expanded: roots.map(({ root }) => store.expand(root)) };
}

/** A context may be too small for its newest step, in both stores. */
function orCode(render: () => unknown): unknown {
  try {
    return render();
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    return error.code;
  }
}
