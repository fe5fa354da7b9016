import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BaseSessionService } from "@google/adk";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, emptyCheckpoint, MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import { CoppiceSessionService } from "../../src/frameworks/adk.ts";
import { CoppiceSaver } from "../../src/frameworks/langgraph.ts";
import { openStore } from "../../src/index.ts";
import { measureAgentSdks } from "./agent-sdks.ts";

export interface FrameworksOptions {
  messages?: number | undefined;
  /** A folder with the frameworks' own stores installed: `@langchain/langgraph-checkpoint-sqlite` and `@mikro-orm/better-sqlite`. */
  peers?: string | undefined;
}

interface Measured {
  p50Ms: number;
  p95Ms: number;
  /** The last tenth of the appends alone: a store that writes everything anew each time is slowest there. */
  lastMs: number;
  loadMs: number;
}

const TEXT = "We looked at the deploy of the service in Oslo, and the latency was lower than in every other region. ";

/**
 * Measures a thread of LangGraph and a session of ADK, each beside a store of the framework's own. Without `peers`, LangGraph's is
 * its `MemorySaver`, and ADK's is left out.
 */
export async function benchFrameworks({ messages = 1_000, peers }: FrameworksOptions) {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-"));
  try {
    const figures: Record<string, number> = { messages };
    const langgraphPath = join(folder, "langgraph.db");
    const store = openStore(langgraphPath);
    const langgraph = await benchSaver(new CoppiceSaver(store), messages);
    store.close();
    figures.langgraphBytes1000 = bytesOf(langgraphPath);
    const own = await ownSaver(peers, join(folder, "own-langgraph.db"));
    const langgraphOwn = await benchSaver(own, messages);
    if (peers !== undefined) figures.langgraphOwnBytes1000 = bytesOf(join(folder, "own-langgraph.db"));
    add(figures, "langgraph", langgraph);
    add(figures, "langgraphOwn", langgraphOwn);
    figures.langgraphAppendVsOwn = langgraph.p50Ms / langgraphOwn.p50Ms;

    const adkPath = join(folder, "adk.db");
    const adkStore = openStore(adkPath);
    const adk = await benchSessions(new CoppiceSessionService(adkStore), messages);
    adkStore.close();
    figures.adkBytes1000 = bytesOf(adkPath);
    add(figures, "adk", adk);
    if (peers !== undefined) {
      const adkOwn = await benchSessions(await ownSessions(peers, join(folder, "own-adk.db")), messages);
      figures.adkOwnBytes1000 = bytesOf(join(folder, "own-adk.db"));
      add(figures, "adkOwn", adkOwn);
      figures.adkAppendVsOwn = adk.p50Ms / adkOwn.p50Ms;
    }
    Object.assign(figures, await measureAgentSdks(folder, messages));
    return { name: "frameworks", figures };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Puts a checkpoint with its writes for every message of a thread. */
async function benchSaver(saver: BaseCheckpointSaver, count: number): Promise<Measured> {
  const thread = { configurable: { thread_id: "bench", checkpoint_ns: "" } };
  const messages: (HumanMessage | AIMessage)[] = [];
  let config: typeof thread = thread;
  const measured = await timed(count, async (number) => {
    const Message = number % 2 === 0 ? HumanMessage : AIMessage;
    messages.push(new Message({ content: `${number}: ${TEXT.repeat(3)}`, id: `m${number}` }));
    const versions = { messages: number + 1, step: number + 1 };
    const values = { messages: [...messages], step: number };
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(0), channel_values: values, channel_versions: versions };
    config = (await saver.put(
      config,
      checkpoint,
      { source: "loop", step: number, parents: {} },
      versions,
    )) as typeof thread;
    await saver.putWrites(config, [["messages", messages.at(-1)]], `task-${number}`);
  });
  const start = performance.now();
  await saver.getTuple(thread);
  return { ...measured, loadMs: performance.now() - start };
}

async function benchSessions(service: BaseSessionService, count: number): Promise<Measured> {
  const { createEvent, createEventActions } = await import("@google/adk");
  const key = { appName: "bench", userId: "ada", sessionId: "s" };
  const session = await service.createSession(key);
  const measured = await timed(count, async (number) => {
    const content = { role: number % 2 === 0 ? "user" : "model", parts: [{ text: `${number}: ${TEXT.repeat(3)}` }] };
    const actions = createEventActions({ stateDelta: { number } });
    await service.appendEvent({
      session,
      event: createEvent({ author: "ada", content, actions, timestamp: 1_000 + number }),
    });
  });
  const start = performance.now();
  await service.getSession(key);
  return { ...measured, loadMs: performance.now() - start };
}

async function timed(count: number, run: (number: number) => Promise<void>): Promise<Omit<Measured, "loadMs">> {
  const times: number[] = [];
  for (let number = 0; number < count; number++) {
    const start = performance.now();
    await run(number);
    times.push(performance.now() - start);
  }
  const last = times.slice(-Math.ceil(count / 10));
  return { p50Ms: quantile(times, 0.5), p95Ms: quantile(times, 0.95), lastMs: quantile(last, 0.5) };
}

function quantile(times: readonly number[], share: number): number {
  return times.toSorted((left, right) => left - right)[Math.floor((times.length - 1) * share)]!;
}

function add(figures: Record<string, number>, name: string, { p50Ms, p95Ms, lastMs, loadMs }: Measured): void {
  figures[`${name}AppendP50Ms`] = p50Ms;
  figures[`${name}AppendP95Ms`] = p95Ms;
  figures[`${name}AppendLastMs`] = lastMs;
  figures[`${name}LoadMs`] = loadMs;
}

async function ownSaver(peers: string | undefined, path: string): Promise<BaseCheckpointSaver> {
  if (peers === undefined) return new MemorySaver();
  const { SqliteSaver } = await importFrom(peers, "@langchain/langgraph-checkpoint-sqlite");
  return SqliteSaver.fromConnString(path);
}

async function ownSessions(peers: string, dbName: string): Promise<BaseSessionService> {
  const { DatabaseSessionService } = await importFrom(peers, "@google/adk/sessions/database");
  const { BetterSqliteDriver } = await importFrom(peers, "@mikro-orm/better-sqlite");
  return new DatabaseSessionService({ dbName, driver: BetterSqliteDriver, allowGlobalContext: true });
}

function importFrom(folder: string, name: string) {
  return import(pathToFileURL(createRequire(join(folder, "package.json")).resolve(name)).href);
}

function bytesOf(path: string): number {
  return ["", "-wal"].reduce(
    (sum, suffix) => sum + (statSync(`${path}${suffix}`, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
