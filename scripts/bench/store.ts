import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";
import Database from "better-sqlite3";
import { parseMessage } from "../../src/core/message.ts";
import { textOf } from "../../src/core/text.ts";
import { type MessageInput, openStore, type Session } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { searchWords } from "../../src/models/search-words.ts";
import { encodeEmbedding } from "../../src/vector/codec.ts";
import { conversation } from "./conversations.ts";
import { killLosses } from "./kills.ts";
import { median, quantile, sessionMessages, take } from "./messages.ts";
import { writerLosses } from "./writers.ts";

const RESUME_CHILD = fileURLToPath(new URL("./resume-child.ts", import.meta.url));
const SMALL = 1_000;
const LARGE = 100_000;
const READ_MESSAGES = 10_000;
const ALTERNATIONS = 9;
const SEED = 1;
/** After this many messages, those that the long session held before have left the window. */
const WARMING = 100;

export interface StoreOptions {
  /** The messages of the long session: 100,000, or fewer for a quick run. */
  messagesLarge?: number | undefined;
  /** `append` measures only appends. */
  only?: string | undefined;
}

/** Measures the costs of the store. Both sides of a ratio run in turns, so a machine that slows down slows both. */
export async function benchStore({
  messagesLarge = LARGE,
  only,
}: StoreOptions = {}): Promise<{ name: "store"; figures: Record<string, number> }> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-"));
  try {
    const figures = appendAgainstRaw(folder);
    if (only === "append") return { name: "store", figures };
    const small = await filledStore(join(folder, "small.db"), SMALL);
    const large = await filledStore(join(folder, "large.db"), messagesLarge);
    Object.assign(figures, appendGrowth(small, large), renderCosts(large), readCosts(large), queryCosts(large));
    const textBytes = large.store.query("SELECT sum(length(CAST(parts AS BLOB))) AS bytes FROM messages")[0]!;
    const artifactBytes = large.store.stats().artifactBytes;
    const messageCount = large.session.info().messageCount;
    small.store.close();
    large.store.close();
    figures.bytesPerMessage = Math.round(
      (statSync(large.path).size - Number(textBytes.bytes) - artifactBytes) / messageCount,
    );
    Object.assign(figures, resumeCosts(small.path, large.path), await killLosses(), await writerLosses());
    return { name: "store", figures };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Filled {
  path: string;
  store: ReturnType<typeof openStore>;
  session: Session;
  messages: ReturnType<typeof sessionMessages>;
}

async function filledStore(path: string, count: number): Promise<Filled> {
  const store = openStore(path);
  const session = store.session("long");
  const messages = sessionMessages(count);
  for (let done = 0; done < count; done += 100) {
    session.append(take(messages, Math.min(100, count - done)));
    if (done % 5_000 === 0) await session.resolveDirty();
  }
  await session.resolveDirty();
  return { path, store, session, messages };
}

/**
 * Compares an append (validated, embedded, placed, committed) with a prepared insert of the same row into the same table, and with
 * the smallest program that also validates, embeds, makes a checksum, and indexes the words in the same transaction.
 */
function appendAgainstRaw(folder: string): Record<string, number> {
  const paths = [join(folder, "append.db"), join(folder, "raw.db"), join(folder, "minimal.db")] as const;
  const store = openStore(paths[0]);
  const session = store.session("append");
  for (const path of paths.slice(1)) {
    const other = openStore(path);
    other.session("append");
    other.close();
  }
  const reader = new Database(paths[0], { readonly: true });
  // All columns but those that SQLite computes.
  const names = (reader.pragma("table_info(messages)") as { name: string }[]).map(({ name }) => name);
  const rowOf = reader.prepare(`SELECT ${names} FROM messages WHERE id = ?`).raw();
  const opened = (path: string): Database.Database => {
    const database = new Database(path);
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = NORMAL");
    database.pragma("foreign_keys = ON");
    return database;
  };
  const insertInto = (database: Database.Database): Database.Statement =>
    database.prepare(`INSERT INTO messages (${names}) VALUES (${names.map(() => "?")})`);
  const raw = opened(paths[1]);
  const insert = insertInto(raw);
  const minimal = opened(paths[2]);
  minimal.exec("CREATE VIRTUAL TABLE minimal_index USING fts5(words, content = '')");
  const insertMinimal = insertInto(minimal);
  const insertWords = minimal.prepare("INSERT INTO minimal_index (rowid, words) VALUES (?, ?)");
  /** The ids, numbers and names of the row are given, because a minimal program would have them. */
  const appendMinimal = minimal.transaction((message: MessageInput, given: readonly unknown[]) => {
    const { parts } = parseMessage(message);
    const json = JSON.stringify(parts);
    const text = textOf(parts);
    const vector = hashingEmbedder.embed(text);
    const made: Record<string, unknown> = {
      parts: json,
      embedding: vector === undefined ? null : encodeEmbedding(vector),
      digest: hash("sha256", json, "buffer").subarray(0, 16),
      checksum: crc32(json),
    };
    insertMinimal.run(given.map((value, index) => (names[index]! in made ? made[names[index]!] : value)));
    insertWords.run(given[names.indexOf("id")], searchWords(text).join(" "));
  });

  const appendMs: number[] = [];
  const rawMs: number[] = [];
  const minimalMs: number[] = [];
  const messages = sessionMessages(1);
  for (let index = 0; index < 6_000; index++) {
    const message = messages.next().value!;
    let from = performance.now();
    const { messageId } = session.append(message as MessageInput);
    const appended = performance.now() - from;
    const row = rowOf.get(messageId) as unknown[];
    from = performance.now();
    insert.run(row);
    const inserted = performance.now() - from;
    from = performance.now();
    appendMinimal.immediate(message, row);
    const appendedMinimally = performance.now() - from;
    if (index < 1_000) continue; // warming up
    appendMs.push(appended);
    rawMs.push(inserted);
    minimalMs.push(appendedMinimally);
  }
  store.close();
  reader.close();
  raw.close();
  minimal.close();
  return {
    appendP50VsRaw: median(appendMs) / median(rawMs),
    appendP50Ms: median(appendMs),
    appendP95Ms: quantile(appendMs, 0.95),
    appendP99Ms: quantile(appendMs, 0.99),
    appendP99VsP50: quantile(appendMs, 0.99) / median(appendMs),
    rawP50Ms: median(rawMs),
    minimalP50VsRaw: median(minimalMs) / median(rawMs),
    minimalP99VsP50: quantile(minimalMs, 0.99) / median(minimalMs),
  };
}

function appendGrowth(small: Filled, large: Filled): Record<string, number> {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < 600; round++) {
    [small, large].forEach(({ session, messages }, side) => {
      const message = messages.next().value!;
      const from = performance.now();
      session.append(message);
      times[side]!.push(performance.now() - from);
    });
  }
  return { appendGrowth: median(times[1]) / median(times[0]) };
}

/**
 * Measures renders after an append. `renderNewDigest` are the times of those in which a digest of 16,000 tokens is chosen anew, as when the
 * frontier moves.
 */
function renderCosts({ session, messages }: Filled): Record<string, number> {
  const cached: number[] = [];
  const afterAppend: number[] = [];
  const newDigest: number[] = [];
  let memory = "";
  for (let round = 0; round < 600; round++) {
    session.append(messages.next().value!);
    let from = performance.now();
    const context = session.render({ tokensMax: 16_000 });
    const ms = performance.now() - from;
    afterAppend.push(ms);
    const before = memory;
    memory = JSON.stringify(context.composed.map((index) => context.messages[index]));
    if (memory !== before) newDigest.push(ms);
    from = performance.now();
    session.render({ tokensMax: 16_000 });
    cached.push(performance.now() - from);
  }
  // The digest of a small context is chosen anew each time. The messages are short, so that the newest always fits.
  const small: number[] = [];
  for (const message of take(conversation(SEED), 300)) {
    session.append(message);
    const from = performance.now();
    session.render({ tokensMax: 4_000 });
    small.push(performance.now() - from);
  }
  return {
    renderCachedP50Ms: median(cached),
    renderAfterAppendP50Ms: median(afterAppend),
    renderNewDigestP50Ms: median(newDigest),
    renderNewDigestP95Ms: quantile(newDigest, 0.95),
    renderAfterAppend4kP50Ms: median(small.slice(WARMING)),
  };
}

/** Compares reading and exporting messages with a plain query that parses the same JSON. */
function readCosts({ path, store, session }: Filled): Record<string, number> {
  const database = new Database(path, { readonly: true });
  const select = database.prepare(
    "SELECT id, seq, role, parts FROM messages WHERE session_id = ? AND seq < ? ORDER BY seq",
  );
  const messagesMs: number[] = [];
  const exportMs: number[] = [];
  const selectMs: number[] = [];
  for (let round = 0; round < ALTERNATIONS; round++) {
    let from = performance.now();
    session.messages({ seqTo: READ_MESSAGES - 1 });
    messagesMs.push(performance.now() - from);
    from = performance.now();
    const lines = store.export({ sessions: [session.id] });
    for (let count = 0; count <= READ_MESSAGES; count++) lines.next();
    exportMs.push(performance.now() - from);
    from = performance.now();
    for (const row of select.all(session.id, READ_MESSAGES) as { parts: string }[]) JSON.parse(row.parts);
    selectMs.push(performance.now() - from);
  }
  database.close();
  const perSelect = (times: readonly number[]): number => median(times) / median(selectMs);
  return { messagesVsSelect: perSelect(messagesMs), exportVsSelect: perSelect(exportMs) };
}

/** Measures the slowest of the queries that people write for one message, cluster or session, without opening the file. */
function queryCosts({ path, session }: Filled): Record<string, number> {
  const database = new Database(path, { readonly: true });
  const value = (query: string): unknown => database.prepare(query).pluck().get();
  const message = value("SELECT max(node) FROM unions WHERE kind = 'join'");
  const cluster = value("SELECT root_id FROM clusters ORDER BY message_count DESC LIMIT 1");
  const queries: [sql: string, value: unknown][] = [
    ["SELECT * FROM messages WHERE parent_id = ?", cluster],
    ["SELECT * FROM cluster_members WHERE message_id = ?", message],
    ["SELECT * FROM cluster_members WHERE cluster_id = ?", cluster],
    ["SELECT * FROM theme_members WHERE message_id = ?", message],
    ["SELECT * FROM theme_members WHERE cluster_id = ?", cluster],
    ["SELECT * FROM session_stats WHERE session_id = ?", session.id],
  ];
  const times = queries.map(([sql, given]) => {
    const statement = database.prepare(sql);
    const ms = Array.from({ length: ALTERNATIONS }, () => {
      const from = performance.now();
      statement.all(given);
      return performance.now() - from;
    });
    return median(ms);
  });
  database.close();
  return { queryMsMax: Math.max(...times) };
}

/** Measures, in fresh processes and in turns, the time until the first render and the first append have returned. */
function resumeCosts(smallPath: string, largePath: string): Record<string, number> {
  const run = (path: string, mode: "open" | "resume"): { ms: number; rssMb: number } =>
    JSON.parse(execFileSync(process.execPath, ["--import", "tsx", RESUME_CHILD, path, mode], { encoding: "utf8" }));
  const small: number[] = [];
  const large: number[] = [];
  const rss: number[] = [];
  for (let round = 0; round < ALTERNATIONS; round++) {
    small.push(run(smallPath, "resume").ms);
    const resumed = run(largePath, "resume");
    large.push(resumed.ms);
    rss.push(resumed.rssMb - run(largePath, "open").rssMb);
  }
  return { resumeGrowth: median(large) / median(small), resume100kMs: median(large), resume100kRssMb: median(rss) };
}
