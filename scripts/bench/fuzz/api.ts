import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Entries,
  type Items,
  type MessageInput,
  openStore,
  type Session,
  type Store,
  StoreError,
} from "../../../src/index.ts";
import { hashingEmbedder } from "../../../src/models/hashing-embedder.ts";
import { checkVerified } from "./importers.ts";
import { isCallers, mutatedValue, oddValue } from "./odd-values.ts";
import type { Random } from "./random.ts";
import type { OpenTarget, Target } from "./target.ts";

const PARTS = [
  { type: "text", text: "The tests of the parser fail on Windows." },
  { type: "file", mediaType: "image/png", data: "AAAA", name: "a.png" },
  { type: "data", data: { rows: [1, 2, { deep: null }] } },
];
const MESSAGES: readonly MessageInput[] = [
  { role: "user", content: "Why does the deploy of the blue region fail?" },
  { role: "user", parts: PARTS as MessageInput["parts"] & {}, name: "Ada", pinned: true, metadata: { a: [1] } },
  {
    role: "assistant",
    parts: [
      { type: "reasoning", text: "Look at the log." },
      { type: "tool_call", toolCallId: "c1", name: "read_file", args: { path: "log.txt" } },
    ],
  },
  { role: "tool", parts: [{ type: "tool_result", toolCallId: "c1", name: "read_file", content: "a\nb" }] },
  { role: "system", content: "Answer briefly.", createdAt: "2026-03-01T00:00:00Z", id: "m1" },
];
const RENDER = {
  strategy: "union-find",
  tokensMax: 4_000,
  query: "the deploy",
  scope: "session",
  contextTokensMax: 8_000,
};
const SQL: readonly string[] = [
  "SELECT count(*) FROM messages",
  "SELECT ?",
  "SELECT :name, @other, $third",
  "SELECT 1; SELECT 2",
  "SELECT 9223372036854775807, 1e999, x'00', NULL",
  "SELECT CAST(x'ff' AS TEXT), char(0), char(55296)",
  "SELECT * FROM nothing",
  "SELECT zeroblob(3000000000)",
  "SELECT load_extension('x')",
  "SELECT * FROM messages_fts WHERE messages_fts MATCH '\"'",
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 500) SELECT * FROM c",
  "VALUES (1), (2)",
  "EXPLAIN SELECT 1",
  "PRAGMA user_version = 7",
  "ATTACH 'other.db' AS other",
  "DELETE FROM messages",
  "INSERT INTO messages DEFAULT VALUES RETURNING *",
  "SELECT json('{'), json_extract('[1]', 'x')",
  "-- nothing",
  ";",
];
const TARGETS = ["theme:1", "cluster:1", "cluster:3@9", "subject:1", "span:1@2", "1", 1];
const NAMESPACES = [[], ["user:1"], ["user:1", "notes"]];
const SESSION_IDS = ["a", "b", "long", "new"];
const noted = (): void => {};

type Arguments = (random: Random) => unknown[];

/** The arguments of a correct call of each method. Most calls change some of them. */
const STORE_CALLS: Record<
  Exclude<keyof Store, "path" | "items" | "work" | "close" | typeof Symbol.dispose>,
  Arguments
> = {
  session: (random) => [random.pick(SESSION_IDS), { hotSize: 12, maxThemes: 3, title: "A title", project: "web" }],
  resume: (random) => [random.pick(SESSION_IDS)],
  projects: () => [],
  renameProject: (random) => [
    ...random.pick([
      ["/srv/web", "site"],
      ["site", "web"],
    ]),
    { merge: random.chance(0.5) },
  ],
  sessions: () => [{ prefix: "a", project: "web", sinceMs: 0, limit: 10, offset: 1 }],
  expand: (random) => [random.pick(TARGETS), { level: "step", limit: 5, offset: 0, project: "web" }],
  subjects: () => [{ project: "web", limit: 10 }],
  subject: () => ["subject:1", { limit: 10 }],
  lost: () => [{ project: "web", limit: 10 }],
  recap: () => [{ sinceMs: 0, project: "web", limit: 10, linesMax: 3 }],
  remember: (random) => [
    "We deploy on Tuesdays.",
    {
      project: "web",
      by: "Ada",
      agent: "an agent",
      ...random.pick<object>([{ replaces: 1 }, { rejects: "message:1" }, {}]),
    },
  ],
  remembered: () => [{ project: "web", limit: 10 }],
  recall: (random) => [
    random.pick<unknown>([
      "the deploy",
      '"the deploy" fail',
      { text: "region", embedding: new Float32Array(384).fill(1) },
    ]),
    {
      ...{ limit: 5, tokensMax: 500, neighbors: 1, explain: true, vectorMsMax: 10, project: "web" },
      ...{ sessionIds: ["a"], roles: ["user"], partTypes: ["text"], sinceMs: 0, untilMs: 9e12 },
    },
  ],
  nearestRoots: (random) => [
    random.pick<unknown>(["the deploy", new Float32Array(384).fill(1)]),
    { k: 3, exact: true },
  ],
  upkeep: (random) => [
    random.pick<unknown>([{}, { only: "vectors", concurrency: 2, waitMsMax: 0, onProgress: noted }]),
  ],
  reembed: (random) => [
    random.pick<unknown>([
      { embedder: hashingEmbedder, onProgress: noted },
      { embedder: hashingEmbedder, dryRun: true },
    ]),
  ],
  atomically: (random) => [random.pick<unknown>([noted, async () => {}, () => Promise.reject(new Error("late"))])],
  query: (random) => [random.pick(SQL)],
  stats: () => [],
  verify: (random) => [{ rebuild: random.chance(0.2), onProgress: noted }],
  backup: () => ["backup.db", { overwrite: true, onProgress: noted }],
  export: (random) => [
    random.pick<unknown>([
      { sessions: ["a"], onUnreadable: noted },
      { rows: true, sessions: ["a"], ownIds: random.chance(0.1) },
    ]),
  ],
  doctor: () => [],
  forget: (random) => [
    random.pick<unknown>([...SESSION_IDS, []]),
    { messageIds: [1 + random.below(300)], dryRun: random.chance(0.3) },
  ],
  restore: (random) => [random.pick(SESSION_IDS), { messageIds: [1 + random.below(300)] }],
  exclude: (random) => [{ projects: [random.pick(SESSION_IDS)], remove: random.chance(0.5) }],
};

const ITEM_CALLS: Record<keyof Items, Arguments> = {
  put: (random) => [random.pick(NAMESPACES), "key", { status: "open", score: 3 }, { session: "a" }],
  get: (random) => [random.pick(NAMESPACES), "key"],
  delete: (random) => [random.pick(NAMESPACES), "key"],
  deleteAll: (random) => [random.pick(NAMESPACES)],
  list: (random) => [
    random.pick(NAMESPACES),
    { filter: { status: "open", score: { $gt: 2 } }, limit: 5, offset: 0, descending: true },
  ],
  namespaces: () => [{ prefix: ["user:1"], suffix: ["notes"], maxDepth: 1, limit: 5, offset: 0 }],
};

const ENTRY_CALLS: Record<keyof Entries, Arguments> = {
  append: (random) => [[{ value: random.pick(MESSAGES), id: random.pick(SESSION_IDS) }], { known: "replace" }],
  list: () => [{ after: 0, limit: 5 }],
};

const SESSION_CALLS: Record<Exclude<keyof Session, "id" | "project" | "entries">, Arguments> = {
  pin: (random) => [1 + random.below(300), { pinned: random.chance(0.5) }],
  update: (random) => [{ title: random.pick(SESSION_IDS), addTags: [random.pick(SESSION_IDS)], removeTags: ["a"] }],
  append: (random) => [
    random.chance(0.5) ? random.pick(MESSAGES) : random.some(4, () => random.pick(MESSAGES)),
    { seq: random.below(50) },
  ],
  sync: (random) => [random.some(4, () => random.pick(MESSAGES))],
  render: () => [RENDER],
  pressure: () => [{ contextTokensMax: 2_000 }],
  resolveDirty: () => [{ concurrency: 1, callsMax: 2, tokensMax: 1_000, onEvent: noted }],
  startResolving: () => [{ concurrency: 1, onEvent: noted }],
  compact: () => [{ contextTokensMax: 2_000 }],
  branches: () => [],
  undo: () => [],
  edit: (random) => [1 + random.below(300), random.pick(MESSAGES)],
  fork: (random) => [{ toSeq: random.below(50), id: random.pick(SESSION_IDS) }],
  rewind: (random) => [{ toSeq: random.below(50) - 1 }],
  messages: () => [{ seqFrom: 0, seqTo: 5, limit: 3 }],
  roots: () => [{ level: "cluster" }],
  info: () => [],
};

const OPEN_OPTIONS = {
  embedder: hashingEmbedder,
  summarizer: { id: "short", promptVersion: 1, summarize: async () => ({ label: "short", text: "A summary." }) },
  tokenCounter: { name: "length", count: (text: string) => text.length },
  durability: "process",
  readonly: false,
  busyTimeoutMs: 50,
  clock: () => 1_772_323_200_000,
};

/** Calls every method of `Store` and `Session` with odd arguments, and opens stores with odd options. */
export const api: Target = {
  open: async (folder) => new OpenApi(folder),
};

class OpenApi implements OpenTarget {
  readonly #folder: string;
  readonly #store: Store;

  constructor(folder: string) {
    this.#folder = folder;
    this.#store = openStore(join(folder, "store.db"));
    const session = this.#store.session("long", { hotSize: 4, overlap: 1, evictBatch: 2 });
    session.append(Array.from({ length: 10 }, () => MESSAGES.slice(0, 4)).flat());
    this.#store.session("a", { project: "web" }).append(MESSAGES[0]!);
  }

  async feed(random: Random): Promise<void> {
    try {
      await this.#call(random);
    } catch (error) {
      if (!(error instanceof StoreError) && !isCallers(error)) throw error;
    }
  }

  async close(): Promise<void> {
    checkVerified(this.#store);
    this.#store.close();
  }

  async #call(random: Random): Promise<void> {
    if (random.chance(0.03)) return this.#open(random);
    const session = (): Session => this.#store.session(random.pick(SESSION_IDS));
    const { calls, receiver } = random.pick<() => { calls: Record<string, Arguments>; receiver: object }>([
      () => ({ calls: STORE_CALLS, receiver: this.#store }),
      () => ({ calls: ITEM_CALLS, receiver: this.#store.items }),
      () => ({ calls: SESSION_CALLS, receiver: session() }),
      () => ({ calls: ENTRY_CALLS, receiver: session().entries }),
    ])();
    const method = random.pick(Object.keys(calls));
    // Vacuuming, checking and copying take long.
    if (["erase", "forget", "verify", "backup", "reembed", "doctor"].includes(method) && random.chance(0.7)) return;
    const given = calls[method]!(random).map((argument) => mutatedValue(argument, random));
    if (random.chance(0.05)) given.push(oddValue(random));
    if (method === "backup") given[0] = this.#within(given[0]);
    await settled((receiver as Record<string, (...given: unknown[]) => unknown>)[method]!(...given));
  }

  /** Opens a store with odd options, and uses it a little. */
  async #open(random: Random): Promise<void> {
    const path = this.#within(random.chance(0.7) ? `other-${random.below(3)}.db` : oddValue(random));
    const store = openStore(path as string, mutatedValue(OPEN_OPTIONS, random) as object);
    try {
      const session = store.session("s");
      session.append(MESSAGES);
      session.compact();
      session.render();
      await store.recall("the deploy");
    } finally {
      store.close();
    }
  }

  /** Keeps the paths of files within the folder. */
  #within(path: unknown): unknown {
    return typeof path === "string" && path !== "" ? join(this.#folder, `${basename(path)}.db`) : path;
  }
}

/** Waits for the result of a call as far as its caller would. */
async function settled(result: unknown): Promise<void> {
  const value = (await result) as { next?: () => { done?: boolean }; stop?: () => Promise<void> } | undefined;
  if (typeof value?.stop === "function") {
    await delay(1);
    await value.stop();
  } else if (typeof value?.next === "function") {
    for (let count = 0; count < 100 && value.next().done !== true; count++);
  }
}
