import { openStore, type Store, type Summarizer } from "../../../src/index.ts";
import { conversation } from "../conversations.ts";
import { take } from "../messages.ts";

const SESSIONS = ["ash", "birch", "cedar", "elm"];
const MESSAGES = 60;
const FORK_MESSAGES = 24;
const SETTINGS = { hotSize: 8, overlap: 2, evictBatch: 6, maxThemes: 4, openClustersMax: 6, resolveTokensMin: 60 };

/** Says the first words of each message. */
const summarizer: Summarizer = {
  id: "first words",
  promptVersion: 1,
  async summarize({ sources, previous }) {
    const first = (text: string, count: number): string => text.split(/\s+/, count).join(" ");
    const [start] = [...previous, ...sources];
    return { title: first(start!.text, 4), text: sources.map(({ text }) => first(text, 3)).join("\n") };
  },
};

/** Writes a store that has something in every table: summaries, subjects, long outputs, titles, metadata, forgotten messages, forks, branches, entries, items. */
export async function writeStore(path: string): Promise<void> {
  let now = Date.UTC(2026, 0, 5);
  const store = openStore(path, { clock: () => (now += 45_000), summarizer });
  for (const [index, id] of SESSIONS.entries()) {
    const session = store.session(id, { ...SETTINGS, project: "grove", title: `Work on ${id}` });
    const messages = take(conversation(index + 1), MESSAGES);
    for (const [at, message] of messages.entries()) {
      session.append({ ...message, id: `${id}-${at}`, metadata: { at, note: `line ${at} of ${id}` } });
      if (at === 20)
        session.append({ role: "user", content: "The gate stays shut at night.", pinned: true, name: "Ines" });
      if (at === 30) session.append({ role: "user", content: `A long record of ${id}. `.repeat(1_500) });
      if (at % 20 === 19) {
        await session.resolveDirty();
        session.compact();
      }
    }
    for (const strategy of ["flat", "sandwich"] as const) session.compact({ strategy, tokensMax: 3_000 });
    session.entries.append(messages.slice(0, 6).map((value, at) => ({ value, id: `${id}-entry-${at}` })));
    for (const key of ["depth", "state"]) {
      store.items.put(["grove", id], key, { key, of: id }, { session: id });
      store.items.put(["tools"], `${id} ${key}`, { key });
    }
    await session.resolveDirty();
    session.compact();
  }
  const forgotten = store.resume("elm").messages({ seqFrom: 7, limit: 1 })[0]!;
  store.forget("elm", { messageIds: [forgotten.id] });
  const fork = store.resume("birch").fork({ id: "willow", toSeq: lastOfStep(store, "birch", 35) });
  for (const message of take(conversation(SESSIONS.length + 1), FORK_MESSAGES)) fork.append(message);
  await fork.resolveDirty();
  fork.compact();
  fork.fork({ id: "young willow" });
  store.resume("ash").rewind({ toSeq: lastOfStep(store, "ash", 55) });
  now += 3 * 86_400_000; // the sessions are idle, so that their clusters settle and get subjects
  await store.upkeep();
  for (const _ of store.export({ rows: true, sessions: ["cedar"] })); // gives the store its id
  store.close();
}

/** Returns the first seq from `seqFrom` on that ends a step. */
function lastOfStep(store: Store, id: string, seqFrom: number): number {
  const after = store.resume(id).messages({ seqFrom: seqFrom + 1 });
  return after.find(({ role }) => role === "user")!.seq - 1;
}
