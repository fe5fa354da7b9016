import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { importFiles, watchFiles } from "../../src/imports/index.ts";
import { type Embedder, openStore, type Store, StoreError } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import type { PostRoutes } from "../../src/view/api.ts";
import { serveView } from "../../src/view/index.ts";
import { KEY_HEADER } from "../../src/view/questions.ts";
import { randomFrom } from "../bench/messages.ts";
import type { Line } from "./ledger.ts";
import { isAsSaid, type Kind, kindOf, saidBy, sessionOf } from "./said.ts";

// Works on the store `argv[2]` as the actor `argv[3]` until it is killed or meets an error, in an order that the seed
// `argv[4]` decides, with messages from number `argv[5]` on. Prints what the store has acknowledged.

const SETTINGS = { hotSize: 8, overlap: 2, evictBatch: 6, maxThemes: 4, openClustersMax: 4, resolveTokensMin: 100 };
const CLI = fileURLToPath(new URL("../../src/cli/main.js", import.meta.url));
const HOUR_MS = 3_600_000;
/** The errors of the clock, in hours. It jumps from one to another. */
const JUMPS = [0, 0, 1, -1, 30, -30, 24 * 400, -24 * 400];

/** More forks would make each check of a round longer. */
const FORKS_MAX = 10;

const [, , path = "", actor = "", seed, numberMin] = process.argv;
const random = randomFrom(Number(seed));
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;

/** Prints a line at once. The stream `process.stdout` may hold it back, and would lose it with the process. */
function say(line: Line): void {
  for (let left = Buffer.from(`${JSON.stringify(line)}\n`); left.length > 0; ) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error; // the pipe is full
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

let jumpMs = 0;
const clock = (): number => {
  if (random() < 0.02) jumpMs = pick(JUMPS) * HOUR_MS;
  return Date.now() + jumpMs;
};

/** The two embedders between which the store is re-embedded: the default one, and the same under another name. */
const OTHER_EMBEDDER: Embedder = { ...hashingEmbedder, id: "hashing-again" };
const embedderOf = (id: string): Embedder => (id === OTHER_EMBEDDER.id ? OTHER_EMBEDDER : hashingEmbedder);

/** The file that the store has opened. */
let inode: number | undefined;

const isReader = ["read", "search", "backup"].includes(kindOf(actor));
const store = orEnd(() => openStore(path, { clock, embedder: embedderOf, readonly: isReader && random() < 0.5 }));
const hasSession = ["append", "batch", "shared", "sync", "rewind", "fork", "thin"].includes(kindOf(actor));
const session = orEnd(() => (hasSession ? store.session(sessionOf(actor), SETTINGS) : undefined));

/** Ends the process if the store refuses. */
function orEnd<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    return end(error);
  }
}

function end(error: unknown): never {
  if (StoreError.is(error)) sayTyped(error.code, error.message);
  else say({ say: "untyped", text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  process.exit(0);
}

/** Nothing damages the store of a round, so only a process whose file was replaced may call it damaged. */
function sayTyped(code: string, message: string): void {
  const isReplaced = inode === undefined || statSync(path).ino !== inode;
  if (code === "STORE_CORRUPT" && !isReplaced) say({ say: "wrong", text: message });
  else say({ say: "typed", code });
}

/** Returns the number of the actor's next message. */
function nextNumber(from: Store): number {
  const newest = `SELECT max(CAST(substr(external_id, ${actor.length + 2}) AS INTEGER)) AS number FROM messages
    WHERE external_id LIKE '${actor} %'`;
  return Number((from.query(newest)[0] as { number: number | null }).number ?? -1) + 1;
}

const found = orEnd(() => nextNumber(store));
// If the file was replaced since it was opened, this is the newer file, and the store refuses to write.
inode = statSync(path).ino;
say({ say: "open", next: found, ino: inode });
// The numbers of forgotten messages are not used again.
const forgets = ["thin", "leave"].includes(kindOf(actor));
let next = forgets ? Math.max(found, Number(numberMin)) : found;

const messages = (count: number) => Array.from({ length: count }, (_, index) => saidBy(actor, next + index));

function storing(count: number, store: () => void): void {
  say({ say: "begin", from: next, to: next + count, isWhole: true, at: Date.now() });
  store();
  next += count;
  say({ say: "stored", next });
}

function check(shown: readonly Parameters<typeof isAsSaid>[0][]): void {
  for (const message of shown) {
    if (!isAsSaid(message)) say({ say: "wrong", text: `message ${message.id} (${message.externalId})` });
  }
}

const ids = (): string[] => store.sessions().map(({ id }) => id);

const ACTIONS: Record<Kind, () => void | Promise<void>> = {
  append: () => storing(1, () => void session!.append(saidBy(actor, next))),
  batch: () => {
    const count = 2 + Math.floor(random() * 40);
    storing(count, () => void session!.append(messages(count)));
  },
  shared: () => storing(1, () => void session!.append(saidBy(actor, next))),
  sync: () => {
    const count = 1 + Math.floor(random() * 6);
    const from = Math.max(0, next - Math.floor(random() * 30)); // the host's array lacks the oldest messages
    const known = Array.from({ length: next - from }, (_, index) => saidBy(actor, from + index));
    storing(count, () => void session!.sync([...known, ...messages(count)]));
  },
  rewind: () => {
    const count = 1 + Math.floor(random() * 12);
    storing(count, () => void session!.append(messages(count)));
    if (random() < 0.5) session!.rewind({ toMessageId: pick(session!.messages()).id });
    else if (session!.branches().some(({ isUndoable }) => isUndoable)) session!.undo();
  },
  fork: () => {
    const own = ids().filter((id) => id === actor || id.startsWith(`${actor} `));
    const grown = store.resume(pick(own));
    const count = 1 + Math.floor(random() * 12);
    storing(count, () => void grown.append(messages(count)));
    if (own.length > FORKS_MAX || random() < 0.5) return;
    const { sessionId, seq } = pick(grown.messages());
    // Further back is the past of the fork, which only its own parent can fork.
    const toSeq = sessionId === grown.id ? seq : grown.messages({ last: 1 })[0]!.seq;
    const fork = grown.fork({ id: `${actor} ${own.length}`, toSeq });
    const [shared, whole] = [fork, grown].map((one) =>
      one
        .messages({ seqTo: toSeq })
        .map(({ id }) => id)
        .join(),
    );
    if (shared !== whole) say({ say: "wrong", text: `${fork.id} shares other messages than ${grown.id} has` });
  },
  thin: () => {
    storing(12, () => void session!.append(messages(12)));
    const stored = session!.messages();
    const old = stored.slice(0, -8);
    const steps = new Set([pick(old)?.stepId, pick(old)?.stepId]);
    const going = stored.filter(({ stepId }) => steps.has(stepId));
    const numbers = going.map(({ externalId }) => Number(externalId!.split(" ")[1]));
    say({ say: "forgetting", numbers });
    store.forget(actor, { messageIds: going.map(({ id }) => id) });
    say({ say: "forgot", numbers });
  },
  leave: async () => {
    const leaving = store.session(actor, SETTINGS);
    storing(30, () => void leaving.append(messages(30)));
    await leaving.resolveDirty();
    const numbers = Array.from({ length: next }, (_, number) => number);
    say({ say: "forgetting", numbers });
    store.forget(actor);
    say({ say: "forgot", numbers });
  },
  import: async () => {
    const file = join(dirname(path), `${actor}.jsonl`);
    const to = next + 20 + Math.floor(random() * 300);
    writing(() => writeFileSync(file, Array.from({ length: to }, (_, number) => lineOf(number)).join("")));
    say({ say: "begin", from: next, to, isWhole: false, at: Date.now() });
    await importFiles(store, file, { summarize: random() < 0.3 });
    next = to;
    say({ say: "stored", next });
  },
  watch: async () => {
    const folder = join(dirname(path), actor);
    const file = join(folder, "live.jsonl");
    mkdirSync(folder, { recursive: true });
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [""];
    let written = lines.length - 1;
    // An actor that was killed in the middle of a line never completes it.
    writing(() => writeFileSync(file, lines.with(-1, "").join("\n")));
    say({ say: "begin", from: next, to: 1e9, isWhole: false, at: Date.now() });
    const ended = watchFiles(store, folder, {
      onEvent: (event) => {
        if (event.event !== "imported") return; // other events store nothing
        next += event.newCount;
        say({ say: "stored", next });
        say({ say: "begin", from: next, to: 1e9, isWhole: false, at: Date.now() });
      },
    });
    for (;;) {
      const line = lineOf(written++);
      if (random() < 0.3) {
        const half = Math.floor(line.length / 2); // a line is often written in two pieces
        writing(() => appendFileSync(file, line.slice(0, half)));
        await sleep(2);
        writing(() => appendFileSync(file, line.slice(half)));
      } else writing(() => appendFileSync(file, line));
      await Promise.race([sleep(random() * 20), ended]);
    }
  },
  mcp: async () => {
    const client = new Client({ name: "soak", version: "1" });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [CLI, "mcp", "--db", path, "--allow-append"],
    });
    await client.connect(transport);
    for (;;) {
      const { id, role, content } = saidBy(actor, next);
      say({ say: "begin", from: next, to: next + 1, isWhole: true, at: Date.now() });
      const message = { sessionId: actor, id, role, content };
      const answer = await client.callTool({ name: "append", arguments: message });
      if (answer.isError) return say({ say: "typed", code: JSON.stringify(answer.content).slice(0, 80) });
      say({ say: "stored", next: ++next });
      await client.callTool({ name: "recall", arguments: { query: "deploy region bucket lock" } });
      await client.callTool({ name: "list_sessions", arguments: {} });
    }
  },
  read: () => {
    const one = pick(ids());
    if (one === undefined) return;
    const read = store.resume(one);
    check(read.messages({ seqFrom: Math.floor(random() * 500), limit: 50 }));
    read.render({ tokensMax: pick([1_000, 4_000]), strategy: pick(["union-find", "flat", "sandwich"] as const) });
    for (const { root } of read.roots().slice(0, 2)) check(store.expand(root, { limit: 50 }).members);
  },
  search: async () => {
    const hits = await store.recall(pick(["deploy bucket lock", "invoice currency", "resizeQueue worker", "漢字"]));
    for (const { messageId } of hits.slice(0, 3)) check(store.expand(messageId).members);
    store.nearestRoots("templates nested past a depth");
    store.subjects();
  },
  view: async () => {
    const view = await serveView(store);
    const { origin, hash } = new URL(view.url);
    const ask = async (route: string, init: RequestInit = {}): Promise<Response> => {
      const response = await fetch(`${origin}/api/${route}`, init);
      const answer = (await response.clone().json()) as { error?: { code: string; message: string } };
      if (answer.error !== undefined) sayTyped(answer.error.code, answer.error.message);
      if (answer.error?.code === "INTERNAL") say({ say: "untyped", text: `the view cannot answer ${route}` });
      return response;
    };
    const type = { "content-type": "application/json" };
    const body = JSON.stringify({ token: hash.slice("#t=".length) });
    const entered = await ask("enter", { method: "POST", headers: type, body });
    const { key } = (await entered.json()) as PostRoutes["/api/enter"]["answer"];
    const headers = { [KEY_HEADER]: key };
    for (let count = 0; count < 10; count++) {
      await ask("sessions", { headers });
      await ask("search?q=deploy+bucket&explain=1", { headers });
      const one = pick(ids());
      if (one === undefined) continue;
      const id = encodeURIComponent(one);
      for (const route of ["session", "outline", "forest", "log"]) await ask(`${route}?session=${id}`, { headers });
      await ask(`messages?session=${id}&limit=40`, { headers });
      await ask(`context?session=${id}&tokensMax=4000`, { headers });
      if (random() < 0.2) await ask(`context?session=${id}&tokensMax=4000&at=5`, { headers });
    }
    await view.close();
  },
  upkeep: async () => void (await store.upkeep()),
  resolve: async () => {
    const one = store.resume(pick(ids()));
    if (random() < 0.5) one.compact();
    await one.resolveDirty();
  },
  backup: async () => {
    const copy = join(dirname(path), `${actor}.copy`);
    await store.backup(copy, { overwrite: true });
    const copied = openStore(copy, { readonly: true, embedder: embedderOf });
    const { ok, problems } = copied.verify();
    if (!ok) say({ say: "wrong", text: `a copy: ${problems[0]!.text}` });
    copied.close();
  },
  reembed: async () => {
    await store.reembed({ embedder: random() < 0.5 ? OTHER_EMBEDDER : hashingEmbedder });
  },
  verify: () => {
    const { ok, problems } = store.verify();
    if (!ok) say({ say: "wrong", text: `verify: ${problems[0]!.text}` });
  },
};

/** Writes a file of the actor's own. The full disk hits it as well as the store. */
function writing(write: () => void): void {
  try {
    write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EFBIG") throw error;
    say({ say: "typed", code: "EFBIG" });
    process.exit(0);
  }
}

function lineOf(number: number): string {
  return `${JSON.stringify({ session: actor, ...saidBy(actor, number) })}\n`;
}

try {
  for (;;) {
    await ACTIONS[kindOf(actor)]();
    say({ say: "did" });
    await sleep(kindOf(actor) === "append" || kindOf(actor) === "shared" ? random() * 4 : random() * 30);
  }
} catch (error) {
  end(error);
}
