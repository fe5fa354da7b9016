import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { openStore, type Store } from "../../src/index.ts";
import { searchWords } from "../../src/models/search-words.ts";
import { annFigures } from "./ann.ts";
import { conversation } from "./conversations.ts";
import { median, quantile, take } from "./messages.ts";
import { type BenchQuestion, questions } from "./recall-questions.ts";
import { recallStore } from "./recall-store.ts";

const CHILD = fileURLToPath(new URL("./recall-child.ts", import.meta.url));
const LARGE = 100_000;
const MILLION = 1_000_000;
const MILLION_SESSIONS = 20_000;
const TAIL = 10_000;
const QUESTIONS = 300;
/** The number of questions before any is timed, so that code is compiled and the file is in the system's cache. */
const WARMING = 60;
const FRESH_PROCESSES = 7;
const SEED = 1;

export interface RecallBenchOptions {
  /** The folder that keeps the stores for later runs. Without it, they are made for each run. */
  folder?: string | undefined;
  /** True to make the store of a million messages in the folder. It takes a quarter of an hour and 3 GB. */
  buildMillion?: boolean | undefined;
}

/**
 * Measures the speed of recall, and the quality and costs of the index of clusters.
 *
 * The stores hold messages of real length in 500 sessions of eight projects, or in 20,000 if there are a million messages. Times are
 * those of whole calls of `recall`, including the texts, snippets and neighbors of the hits. No question is asked twice.
 */
export async function benchRecall({ folder, buildMillion = false }: RecallBenchOptions = {}): Promise<{
  name: "recall";
  figures: Record<string, number>;
}> {
  const scratch = mkdtempSync(join(tmpdir(), "coppice-bench-recall-"));
  try {
    const kept = folder ?? scratch;
    mkdirSync(kept, { recursive: true });
    const path = join(kept, `recall-${LARGE}.db`);
    await recallStore(path, LARGE);
    const large = await recallTimes(path);
    const figures: Record<string, number> = {
      recallVsFts: median(large.recall) / median(large.plain),
      recallP50Ms100k: median(large.recall),
      recallP95Ms100k: quantile(large.recall, 0.95),
      ...(await millionFigures(kept, buildMillion)),
      ...(await unindexedFigures(path, join(scratch, "unindexed.db"))),
      ...(await annFigures({ folder })),
    };
    return { name: "recall", figures };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function millionFigures(folder: string, build: boolean): Promise<Record<string, number>> {
  const path = join(folder, `recall-${MILLION}.db`);
  if (build) await recallStore(path, MILLION, MILLION_SESSIONS);
  if (!existsSync(path)) {
    console.error(
      `No ${path}: figures of a million messages are left out. Give --folder and --build-million to make it.`,
    );
    return {};
  }
  const { recall, plain } = await recallTimes(path);
  return {
    recallVsFts1m: median(recall) / median(plain),
    recallP50Ms1m: median(recall),
    recallP95Ms1m: quantile(recall, 0.95),
  };
}

/** Times recall, and a plain search for any of the question's words in the same index. */
async function recallTimes(path: string): Promise<{ recall: number[]; plain: number[] }> {
  const store = openStore(path, { readonly: true });
  const database = new Database(path, { readonly: true });
  const search = database.prepare("SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rank LIMIT 10");
  try {
    const [recall, plain]: [number[], number[]] = [[], []];
    for (const question of questions(WARMING + QUESTIONS, SEED)) {
      recall.push(await askedIn(store, question));
      const words = new Set(searchWords(question.text));
      const from = performance.now();
      search.all(Array.from(words, (word) => `"${word}"`).join(" OR "));
      plain.push(performance.now() - from);
    }
    return { recall: recall.slice(WARMING), plain: plain.slice(WARMING) };
  } finally {
    database.close();
    store.close();
  }
}

/**
 * Measures the first question after 10,000 unindexed messages, in the process that appended them and in fresh processes.
 *
 * @param path  The store. The messages are appended to a copy of it.
 */
async function unindexedFigures(path: string, copy: string): Promise<Record<string, number>> {
  copyFileSync(path, copy);
  const store = openStore(copy);
  try {
    const [first, second] = questions(2, SEED + 1);
    await store.recall(first!.text);
    const session = store.session("unindexed");
    const messages = conversation(TAIL, { length: "real" });
    for (let count = 0; count < TAIL; count += 100) session.append(take(messages, 100));
    const same = await askedIn(store, second!);
    const fresh = Array.from({ length: FRESH_PROCESSES }, (_, index) => {
      const args = ["--import", "tsx", CHILD, copy, String(SEED + 1), String(index)];
      return Number(execFileSync(process.execPath, args, { encoding: "utf8" }));
    });
    return { recallFirstAfter10kAppendsMs: median(fresh), recallFirstAfter10kAppendsSameProcessMs: same };
  } finally {
    store.close();
  }
}

/** Returns the milliseconds that a question takes. */
async function askedIn(store: Store, { text, options }: BenchQuestion): Promise<number> {
  const from = performance.now();
  await store.recall(text, options);
  return performance.now() - from;
}
