import { join } from "node:path";
import { type LocalEmbedder, type MessageInput, openStore, type Session, type Store } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { encodeVector } from "../../src/vector/codec.ts";
import { letterEmbedder } from "./other-embedders.ts";
import { inDatabase } from "./rows.ts";

/** What makes a path: what was appended, what moved the frontier at the wish of the caller, and what was forgotten. */
export type PathEvent =
  | { kind: "append"; seq: number; message: MessageInput }
  | { kind: "compact"; nextSeq: number }
  | { kind: "forget"; seq: number }
  | { kind: "reembed"; embedder: string };

export const SMALL_WINDOW = {
  hotSize: 4,
  overlap: 1,
  evictBatch: 4,
  maxThemes: 3,
  openClustersMax: 4,
  contextTokensMax: 3_000,
} as const;

/** Always the same time, because contexts and recall depend on it. */
const clock = (): number => Date.UTC(2026, 0, 2);

export function opened(path: string): Store {
  return openStore(path, { clock, embedder: (id) => embedderOf(id ?? hashingEmbedder.id) });
}

export const EMBEDDERS = [hashingEmbedder.id, letterEmbedder.id] as const;

function embedderOf(id: string): LocalEmbedder {
  return id === letterEmbedder.id ? letterEmbedder : hashingEmbedder;
}

/** What is done to the session, by one of several processes. */
export type Action = { session?: string } & (
  | { kind: "append" | "batch"; messages: MessageInput[] }
  | { kind: "rewind"; toSeq: number }
  | { kind: "fork"; toSeq: number; id: string }
  | { kind: "edit"; messageId: number; message: MessageInput }
  | { kind: "forget"; seq: number }
  | { kind: "reembed"; embedder: string }
  | { kind: "compact" | "undo" }
);

/** @returns what the session says of it. */
export async function act(store: Store, action: Action): Promise<unknown> {
  const session = store.session(action.session ?? "s", SMALL_WINDOW);
  switch (action.kind) {
    case "append":
      for (const message of action.messages) session.append(message);
      return session.render().tokenCount;
    case "batch":
      session.append(action.messages);
      return session.render().tokenCount;
    case "rewind":
      return session.rewind({ toSeq: action.toSeq });
    case "fork":
      return session.fork({ toSeq: action.toSeq, id: action.id }).render().tokenCount;
    case "edit":
      return session.edit(action.messageId, action.message);
    case "forget":
      return forgetAt(store, session, action.seq);
    case "reembed":
      return store.reembed({ embedder: embedderOf(action.embedder) });
    case "compact":
      return session.compact();
    case "undo":
      return session.undo();
  }
}

/** A message as it is appended at a seq: with the time that belongs to the seq. */
export function timed(message: MessageInput, seq: number): MessageInput {
  return { ...message, createdAt: Date.UTC(2026, 0, 1) + 1_000 * seq };
}

/** Opens a new store whose ids have six digits, so that handles in contexts are equally long whatever the history. */
export function numberedStore(path: string): Store {
  openStore(path).close();
  inDatabase(path, (database) => {
    const set = database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, 100000)");
    for (const table of ["messages", "unions"]) set.run(table);
  });
  return opened(path);
}

/** The stupid oracle: the path alone, appended one by one to a new store. */
export async function replayed(folder: string, events: readonly PathEvent[], id = "s"): Promise<Store> {
  const store = numberedStore(join(folder, `oracle-${id}.db`));
  const session = store.session(id, SMALL_WINDOW);
  for (const event of events) {
    if (event.kind === "append") session.append(timed(event.message, event.seq));
    else if (event.kind === "compact") session.compact();
    else if (event.kind === "reembed") await act(store, event);
    else forgetAt(store, session, event.seq);
  }
  return store;
}

function forgetAt(store: Store, session: Session, seq: number): void {
  const [message] = session.messages({ seqFrom: seq, seqTo: seq });
  if (message !== undefined) store.forget(session.id, { messageIds: [message.id] });
}

/** A session. Views show the messages after the last shared seq. Searches depend on all sessions of a store. */
interface Seen {
  id: string;
  shared: number | null;
}

const SEEN: Seen = { id: "s", shared: null };

/** What users see of a session. Ids become seqs and log positions are left out, because both depend on what was superseded. */
export async function seen(store: Store, queries: readonly string[], { id, shared }: Seen = SEEN): Promise<unknown> {
  const session = store.resume(id);
  const seqOf = new Map(session.messages().map(({ id, seq }) => [id, seq]));
  const named = (text: string): string =>
    text
      .replace(/\b(theme|cluster|span):(\d+)@(\d+)/g, (_, level, id) => `${level}:${seqOf.get(Number(id))}`)
      .replace(/\b\d{6}\b/g, (id) => String(seqOf.get(Number(id)) ?? 999));
  const plain = (value: unknown): unknown => JSON.parse(named(JSON.stringify(value)));
  const recalled: unknown[] = [];
  const [generation] = store.query("SELECT embedder_id FROM generations ORDER BY id DESC LIMIT 1");
  // With any other embedder, the order of hits depends on a sample of messages, which is drawn by their ids.
  for (const query of generation?.embedder_id === hashingEmbedder.id && shared === null ? queries : []) {
    const hits = await store.recall(query, { limit: 20 });
    recalled.push(hits.map(({ seq }) => seq));
  }
  return {
    messages: session
      .messages()
      .map(({ seq, role, text, turnSeq, stepId }) => [...[seq, role, text, turnSeq], seqOf.get(stepId)]),
    context: plain(session.render()),
    asked: shared === null ? plain(session.render({ query: queries[0]! })) : null,
    themes: plain(session.roots()),
    clusters: plain(session.roots({ level: "cluster" })),
    sums: internalsOf(store).repositories.database.read(() => {
      const { clusters, themes } = internalsOf(store).repositories;
      const sums = [
        ...clusters.withThemes(id).map(({ rootId, centroidSum }) => ({ rootId, sum: centroidSum })),
        ...themes.ofSession(id).map(({ theme }) => ({ rootId: theme.root, sum: theme.sum })),
      ];
      return sums.map(({ rootId, sum }) => `${seqOf.get(rootId)} ${encodeVector(sum).toString("hex")}`).sort();
    }),
    zones: store.query(
      `SELECT seq, zone FROM message_zones WHERE session_id = '${id}' AND seq > ${shared ?? -1} ORDER BY seq`,
    ),
    stats:
      (shared ?? -1) < 0 &&
      store.query(
        `SELECT message_count, token_count, hot_count, cold_count, overlap_count, cluster_count FROM session_stats
       WHERE session_id = '${id}'`,
      ),
    sizes: (({ messageCount, tokenCount, themeCount, clusterCount, opening }) => {
      return { messageCount, tokenCount, themeCount, clusterCount, opening };
    })(session.info()),
    recalled,
  };
}
