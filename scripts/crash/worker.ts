import { writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { BATCH_MESSAGES_MAX } from "../../src/core/limits.ts";
import { walkFiles } from "../../src/importers/files.ts";
import { ImportRun } from "../../src/imports/import-run.ts";
import { summarizeSessions } from "../../src/imports/summarize-sessions.ts";
import { openStore } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { randomFrom } from "../bench/messages.ts";
import { saidAt } from "./conversation.ts";
import type { Line } from "./promises.ts";

// Works on the store `argv[2]` until it is killed, in the order that the seed `argv[3]` decides. Prints what the store has
// acknowledged.

const SMALL_WINDOW = {
  hotSize: 6,
  overlap: 2,
  evictBatch: 6,
  maxThemes: 4,
  openClustersMax: 4,
  resolveTokensMin: 100,
};
/** The messages of one import: two batches of several transactions, so that a kill can hit between any two. */
const IMPORTED_AT_ONCE = 2 * BATCH_MESSAGES_MAX;

const [, , path, seed] = process.argv;
const random = randomFrom(Number(seed));
const pick = (count: number): number => Math.floor(random() * count);

/** Prints a line at once. The stream `process.stdout` may hold it back, and would lose it with the process. */
function say(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

const store = openStore(path!);
const appended = store.session("appended", SMALL_WINDOW);
const batched = store.session("batched", SMALL_WINDOW);
const synced = store.session("synced", SMALL_WINDOW);
const thinned = store.session("thinned", SMALL_WINDOW);
const sessions = [appended, batched, synced, thinned];
const counts = new Map(store.sessions().map(({ id, messageCount }) => [id, messageCount]));
say({ say: "open", sessions: sessions.map(({ id }) => id) });

/** Announces an append, and returns the seq of its first message. */
function begin(session: string, count: number, batch = count): number {
  const from = counts.get(session) ?? 0;
  say({ say: "appending", session, from, to: from + count, batch });
  return from;
}

/** Reports that an append was acknowledged. */
function end(session: string, count: number, messageId?: number): void {
  counts.set(session, count);
  say({ say: "appended", session, count, ...(messageId !== undefined && { messageId }) });
}

function append(): void {
  const from = begin("appended", 1);
  const { messageId } = appended.append({ ...saidAt("appended", from), id: `id ${from}` });
  end("appended", from + 1, messageId);
}

function appendBatch(): void {
  const count = 2 + pick(40);
  const from = begin("batched", count);
  const results = batched.append(Array.from({ length: count }, (_, index) => saidAt("batched", from + index)));
  end("batched", from + results.length, results.at(-1)!.messageId);
}

function sync(): void {
  const count = 1 + pick(6);
  const from = begin("synced", count);
  const first = Math.max(0, from - pick(30)); // the host's array lacks the oldest messages
  const history = Array.from({ length: from + count - first }, (_, index) => saidAt("synced", first + index));
  const results = synced.sync(history);
  end("synced", from + results.length, results.at(-1)!.messageId);
}

function compact(): void {
  sessions[pick(sessions.length)]!.compact();
  sayStored();
}

async function resolve(): Promise<void> {
  const resolving = sessions[pick(sessions.length)]!.resolveDirty();
  append();
  await resolving;
  sayStored();
}

/** Imports a file that grows each time. Messages that a killed import has left out are imported with the next. */
async function importFile(): Promise<void> {
  const file = join(dirname(path!), "imported.jsonl");
  const from = begin("imported", IMPORTED_AT_ONCE, 1); // the number of transactions depends on the pace
  const lines = Array.from({ length: from + IMPORTED_AT_ONCE }, (_, seq) => ({
    session: "imported",
    id: `id ${seq}`,
    ...saidAt("imported", seq),
  }));
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const run = new ImportRun(store, {
    format: "jsonl",
    onProgress({ newCount, knownCount }) {
      if (newCount > 0) end("imported", newCount + knownCount);
    },
  });
  for await (const one of walkFiles([file])) await run.read(one);
  await summarizeSessions(internalsOf(store), run.sessionIds, {});
  sayStored();
}

/** Creates a session, and forgets it. */
async function forget(): Promise<void> {
  const session = store.session("forgotten", SMALL_WINDOW);
  const from = begin("forgotten", 30);
  session.append(Array.from({ length: 30 }, (_, index) => saidAt("forgotten", from + index)));
  end("forgotten", from + 30);
  await session.resolveDirty();
  say({ say: "forgetting", session: "forgotten" });
  store.forget("forgotten");
  counts.delete("forgotten");
  say({ say: "forgot", session: "forgotten" });
  sayStored();
}

/** Appends some messages, and forgets some older ones with their steps. */
function forgetMessages(): void {
  const seqNext = (thinned.messages().at(-1)?.seq ?? -1) + 1;
  const from = begin("thinned", 12);
  thinned.append(Array.from({ length: 12 }, (_, index) => saidAt("thinned", seqNext + index)));
  end("thinned", from + 12);
  const messages = thinned.messages();
  const old = messages.slice(0, -8); // never the newest: the next seq is computed from it
  const steps = new Set(Array.from({ length: 1 + pick(4) }, () => old[pick(old.length)]!.stepId));
  const going = messages.filter(({ stepId }) => steps.has(stepId));
  const seqs = going.map(({ seq }) => seq);
  say({ say: "forgettingMessages", session: "thinned", seqs });
  store.forget("thinned", { messageIds: going.map(({ id }) => id) });
  counts.set("thinned", messages.length - going.length);
  say({ say: "forgotMessages", session: "thinned", seqs });
  sayStored();
}

function rebuild(): void {
  const database = new Database(path!);
  say({ say: "damaging" });
  database.exec("DELETE FROM themes; DELETE FROM clusters; UPDATE messages SET parent_id = id");
  database.close();
  store.verify({ rebuild: true });
  say({ say: "rebuilt" });
}

function sayStored(): void {
  const { logPosition, summaryCount } = store.stats();
  say({ say: "stored", logPosition, summaryCount });
}

const EVENTS: (() => void | Promise<void>)[] = [
  ...Array.from({ length: 8 }, () => append),
  ...Array.from({ length: 4 }, () => appendBatch),
  ...Array.from({ length: 4 }, () => sync),
  compact,
  compact,
  resolve,
  resolve,
  importFile,
  forget,
  forgetMessages,
  forgetMessages,
  rebuild,
];
for (;;) await EVENTS[pick(EVENTS.length)]!();
