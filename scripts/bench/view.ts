import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { openStore } from "../../src/index.ts";
import type { GetRoutes, LogAnswer } from "../../src/view/api.ts";
import { logOf, Replay } from "../../src/view/page/parts/replay.ts";
import { KEY_HEADER } from "../../src/view/questions.ts";
import { findChromium, launchChromium } from "../../test/support/chromium.ts";
import { bundlePage } from "../build/page.ts";
import { quantile, randomFrom, sessionMessages, take } from "./messages.ts";
import { questions } from "./recall-questions.ts";
import { recallStore } from "./recall-store.ts";

const CHILD = fileURLToPath(new URL("view-child.ts", import.meta.url));
const PAGE = fileURLToPath(new URL("../../src/view/page", import.meta.url));
/** The server looks for the page here when it runs from its source. */
const BUNDLED = fileURLToPath(new URL("../../dist/view", import.meta.url));
const MESSAGES = 100_000;
const QUESTIONS = 12;
/** The first questions only warm the caches. */
const WARMING = 2;
const SEED = 5;
const IDLE_MS = 15_000;
const IDLE_WINDOWS = 5;
const JUMPS = 200;
const PAINTS = 5;
const SCROLLS = 100;
const SESSION = "long";

export interface ViewBenchOptions {
  messages?: number | undefined;
  /** The folder that keeps the stores for later runs. Without it, they are made for each run, in about two minutes. */
  folder?: string | undefined;
}

/**
 * Measures the view on a store of 500 sessions and on one session, each with 100,000 messages: a search for each key that a
 * person types, the processor time of a server whose page is open while nothing happens, the answers that a page asks for first,
 * and jumps of the slider to any position of the log. If a browser is found (`npm run chromium`), it opens the one session and
 * scrolls through it.
 */
export async function benchView({ messages = MESSAGES, folder }: ViewBenchOptions = {}): Promise<{
  name: "view";
  figures: Record<string, number>;
}> {
  const scratch = mkdtempSync(join(tmpdir(), "coppice-bench-view-"));
  try {
    const many = join(folder ?? scratch, `recall-${messages}.db`);
    const one = join(folder ?? scratch, `view-${messages}.db`);
    await recallStore(many, messages);
    oneSession(one, messages);
    for (const path of [many, one]) openStore(path).close(); // a kept store may have an older format
    await bundlePage(PAGE, BUNDLED);
    return {
      name: "view",
      figures: {
        messages,
        ...(await served(many, searchFigures)),
        ...(await served(many, idleFigures)),
        ...(await served(one, sessionFigures)),
        ...(await served(one, pageFigures)),
        assetsGzipBytes: assetsGzipBytes(),
      },
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Makes a store with one session, unless the file exists. */
function oneSession(path: string, messageCount: number): void {
  if (existsSync(path)) return;
  const growing = `${path}.growing`;
  for (const suffix of ["", "-wal", "-shm"]) rmSync(growing + suffix, { force: true });
  const store = openStore(growing);
  const session = store.session(SESSION, { title: "A long session" });
  const said = sessionMessages(SEED);
  for (let count = 0; count < messageCount; count += 500) session.append(take(said, 500));
  store.close();
  renameSync(growing, path);
}

class Served {
  readonly #child: ChildProcess;
  readonly base: string;
  readonly key: string;

  constructor(child: ChildProcess, base: string, key: string) {
    this.#child = child;
    this.base = base;
    this.key = key;
  }

  async get<R extends keyof GetRoutes>(route: R, query: object): Promise<GetRoutes[R]> {
    const response = await this.open(`${route}?${new URLSearchParams(query as Record<string, string>)}`);
    if (!response.ok) throw new Error(`${route}: ${await response.text()}`);
    return (await response.json()) as GetRoutes[R];
  }

  open(path: string): Promise<Response> {
    return fetch(`${this.base}${path}`, { headers: { [KEY_HEADER]: this.key } });
  }

  async cpuMs(): Promise<number> {
    this.#child.send("usage");
    const [{ user, system }] = (await once(this.#child, "message")) as [NodeJS.CpuUsage];
    return (user + system) / 1_000;
  }
}

type Figures = Record<string, number>;

async function served(path: string, measure: (view: Served) => Promise<Figures>): Promise<Figures> {
  const child = fork(CHILD, [path], { execArgv: ["--import", "tsx"] });
  try {
    const [url] = (await once(child, "message")) as [string];
    const [base, token] = url.split("/#t=") as [string, string];
    const headers = { "content-type": "application/json" };
    const entered = await fetch(`${base}/api/enter`, { method: "POST", headers, body: JSON.stringify({ token }) });
    return await measure(new Served(child, base, (await entered.json()).key));
  } finally {
    child.kill("SIGKILL");
  }
}

/** Questions are typed key by key. Each key asks what is there so far. */
async function searchFigures(view: Served): Promise<Figures> {
  const times: number[] = [];
  let cpuFromMs = 0;
  for (const [index, { text }] of questions(QUESTIONS, SEED).entries()) {
    if (index === WARMING) cpuFromMs = await view.cpuMs();
    for (let length = 1; length <= text.length; length++) {
      const fromMs = performance.now();
      await view.get("/api/search", { q: text.slice(0, length), explain: "1" });
      if (index >= WARMING) times.push(performance.now() - fromMs);
    }
  }
  return {
    searchP50Ms: quantile(times, 0.5),
    searchP95Ms: quantile(times, 0.95),
    searchMaxMs: Math.max(...times),
    searchCpuMs: ((await view.cpuMs()) - cpuFromMs) / times.length,
  };
}

/**
 * The median of some windows: V8 collects garbage once or twice in the seconds after it has worked, which takes 30 to 60 ms and is
 * not what an idle server does.
 */
async function idleFigures(view: Served): Promise<Figures> {
  const listening = await view.open("/api/events");
  const reading = listening.body!.pipeTo(new WritableStream()).catch(() => {}); // ends with the server
  const windows: number[] = [];
  while (windows.length < IDLE_WINDOWS) {
    const [before, fromMs] = [await view.cpuMs(), performance.now()];
    await sleep(IDLE_MS);
    windows.push(((await view.cpuMs()) - before) / ((performance.now() - fromMs) / 60_000));
  }
  void reading;
  return { idleCpuMsPerMinute: quantile(windows, 0.5) };
}

async function sessionFigures(view: Served): Promise<Figures> {
  const timed = async (ask: () => Promise<unknown>): Promise<number> => {
    const times: number[] = [];
    for (let count = 0; count < 5; count++) {
      const fromMs = performance.now();
      await ask();
      times.push(performance.now() - fromMs);
    }
    return quantile(times, 0.5);
  };
  const random = randomFrom(SEED);
  const session = SESSION;
  const { seqEnd } = await view.get("/api/session", { session });
  const anySeq = () => Math.floor(random() * seqEnd);
  const messagesMs = await timed(() => view.get("/api/messages", { session, seqFrom: anySeq() }));
  const outlineMs = await timed(() => view.get("/api/outline", { session, seqFrom: anySeq() }));
  const logMs = await timed(() => view.get("/api/log", { session }));
  const contextMs = await timed(() =>
    view.get("/api/context", { session, tokensMax: 8_000 + Math.floor(random() * 8_000) }),
  );
  const forestMs = await timed(() => view.get("/api/forest", { session }));
  const answers: LogAnswer[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const answer: LogAnswer = await view.get("/api/log", { session, after });
    answers.push(answer);
    after = answer.next;
  }
  const log = logOf(answers);
  const replay = new Replay(log, seqEnd);
  const jumps = Array.from({ length: JUMPS }, () => {
    const fromMs = performance.now();
    replay.moveTo(Math.floor(random() * log.count));
    return performance.now() - fromMs;
  });
  return { messagesMs, outlineMs, logMs, contextMs, forestMs, logRows: log.count, sliderP95Ms: quantile(jumps, 0.95) };
}

/** Opens the session again and again, then scrolls to places all over it. */
async function pageFigures(view: Served): Promise<Figures> {
  const chromium = findChromium();
  if (chromium === undefined) return {};
  const browser = await launchChromium(chromium);
  try {
    const origins = [{ origin: view.base, localStorage: [{ name: KEY_HEADER, value: view.key }] }];
    const viewport = { width: 1280, height: 800 };
    const context = await browser.newContext({ viewport, storageState: { cookies: [], origins } });
    const page = await context.newPage();
    const [paints, firsts]: [number[], number[]] = [[], []];
    for (let count = 0; count < PAINTS; count++) {
      await page.goto(`${view.base}/?view=session&session=${SESSION}`);
      await page.locator(".message .prose").first().waitFor();
      const [paint, first] = await page.evaluate(() => [
        performance.getEntriesByName("first-contentful-paint")[0]!.startTime,
        performance.now(),
      ]);
      paints.push(paint!);
      firsts.push(first!);
    }
    return {
      firstPaintMs: quantile(paints, 0.5),
      firstMessagesMs: quantile(firsts, 0.5),
      pageMb: await scrolledPageMb(page),
    };
  } finally {
    await browser.close();
  }
}

/** Returns the memory that the page holds after it showed places all over the session, without what can be collected. */
async function scrolledPageMb(page: Page): Promise<number> {
  await page.locator("[data-index]").first().waitFor(); // the list is there when the whole session is known
  const random = randomFrom(SEED);
  for (let count = 0; count < SCROLLS; count++) {
    await page.evaluate((share) => scrollTo(0, document.documentElement.scrollHeight * share), random());
    await page.waitForTimeout(20);
  }
  const client = await page.context().newCDPSession(page);
  await client.send("HeapProfiler.collectGarbage");
  const usage = (await client.send("Runtime.getHeapUsage")) as unknown as Record<string, number>;
  return (usage.usedSize! + usage.embedderHeapUsedSize! + usage.backingStorageSize!) / 1e6;
}

function assetsGzipBytes(): number {
  return readdirSync(BUNDLED).reduce((sum, name) => sum + gzipSync(readFileSync(join(BUNDLED, name))).length, 0);
}
