import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { type MessageInput, openStore } from "../../src/index.ts";
import { conversation } from "./conversations.ts";
import { take } from "./messages.ts";

/** Every store has at least these sessions. */
export const SESSIONS = 500;

/** The share of the sessions that each project has: a third for the first, a twentieth for the last. */
const PROJECT_SHARES = [0.34, 0.2, 0.12, 0.1, 0.08, 0.06, 0.05, 0.05];

/** Yields the endless messages of a session. They depend only on the number, not on the size of the store. */
export function sessionOf(number: number): Generator<MessageInput> {
  return conversation(number + 1, { length: "real" });
}

export function projectOf(number: number): string {
  let rest = ((number * 7919) % SESSIONS) / SESSIONS;
  const index = PROJECT_SHARES.findIndex((share) => {
    rest -= share;
    return rest < 0;
  });
  return `project-${index < 0 ? PROJECT_SHARES.length - 1 : index}`;
}

/**
 * Makes a store with this many messages in sessions of eight projects, summarized and indexed, unless the file exists. 100,000
 * messages take about a minute and 260 MB.
 */
export async function recallStore(path: string, messageCount: number, sessionCount = SESSIONS): Promise<void> {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  const growing = `${path}.growing`;
  for (const suffix of ["", "-wal", "-shm", "-coppice-ann.hnsw", "-coppice-ann.json"])
    rmSync(growing + suffix, { force: true });
  const store = openStore(growing);
  const perSession = messageCount / sessionCount;
  for (let number = 0; number < sessionCount; number++) {
    const session = store.session(`session-${number}`, { project: projectOf(number) });
    const messages = sessionOf(number);
    for (let count = 0; count < perSession; count += 100) {
      session.append(take(messages, Math.min(100, perSession - count)));
    }
    await session.resolveDirty();
  }
  store.close();
  for (const suffix of ["-coppice-ann.hnsw", "-coppice-ann.json", ""]) {
    if (existsSync(growing + suffix)) renameSync(growing + suffix, path + suffix);
  }
}
