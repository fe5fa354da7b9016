import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { walkFiles } from "../../src/importers/files.ts";
import { type FileReport, ImportRun } from "../../src/imports/import-run.ts";
import { openStore, type Store } from "../../src/index.ts";
import type { Evaluation } from "../eval.ts";
import { Progress } from "../progress.ts";
import { inFolder } from "./folder.ts";
import { entriesIn, entryOfPart } from "./import-entries.ts";

/** The number of imports that are killed, at moments spread over the duration of a whole import. */
const KILLS = 50;

/** The shares of each file that are imported, one after another, before the whole file. */
const GROWTH = [0.1, 0.37, 0.62, 0.93];

const CHILD = fileURLToPath(new URL("import-child.ts", import.meta.url));

/**
 * Checks that everything in `transcripts/` is in the store after an import, counted without the importers. Checks also that an
 * import that is repeated, that was killed, or whose files have grown gives an equal store.
 *
 * - `entries`, `entriesInStore`: blocks of users, assistants and tools; the store must hold each as often as the files.
 * - `damagedLines`, `damagedReported`: lines that are not JSON, and those of them that a warning names.
 * - `newTheSecondTime`: messages that a second import adds.
 * - `killedEqual`, `killed`: 1 if the store equals that of one clean import row by row, and the number of kills.
 * - `grownSameMessages`: percent of the messages of a clean import that have the same seq and id in a store whose files grew in
 *   steps. `grownExtraMessages`: other messages of that store. Facts that a file adds to a message later, such as its usage, are
 *   not compared.
 * - `verifyProblems`: over all of these stores.
 */
export async function evaluateImport(dataFolder: string): Promise<Evaluation> {
  const source = join(dataFolder, "transcripts");
  const figures: Record<string, number> = {};
  await inFolder(async (folder) => {
    const cleanPath = join(folder, "clean.db");
    const startedAt = performance.now();
    const reports = await importInto(cleanPath, source);
    const importMs = performance.now() - startedAt;
    const again = await importInto(cleanPath, source);
    const clean = readStore(cleanPath);
    const problems = [clean.problemCount];

    Object.assign(figures, coverage(source, reports, clean.parts));
    figures.messages = clean.rows.length;
    figures.newTheSecondTime = sum(again.map(({ newCount }) => newCount));

    const killedPath = join(folder, "killed.db");
    figures.killed = await killImports(killedPath, source, importMs);
    await importInto(killedPath, source);
    const killed = readStore(killedPath);
    problems.push(killed.problemCount);
    figures.killedEqual = JSON.stringify(killed.rows) === JSON.stringify(clean.rows) ? 1 : 0;

    const grownPath = join(folder, "grown.db");
    for (const share of [...GROWTH, 1]) {
      const copy = join(folder, "growing");
      for (const path of filesIn(source)) {
        const target = join(copy, path.slice(source.length));
        mkdirSync(dirname(target), { recursive: true });
        if (share === 1) {
          copyFileSync(path, target);
          // An old time, so that the file counts as quiet.
          utimesSync(target, 0, 0);
        } else writeFileSync(target, readFileSync(path).subarray(0, statSync(path).size * share));
      }
      await importInto(grownPath, copy);
    }
    const grown = readStore(grownPath);
    problems.push(grown.problemCount);
    const { missing, extra } = difference(clean.messages, grown.messages);
    const messageCount = sum([...clean.messages.values()]);
    figures.grownSameMessages = (100 * (messageCount - missing)) / messageCount;
    figures.grownExtraMessages = extra;
    figures.verifyProblems = sum(problems);
  });
  return { name: "import", figures };
}

async function importInto(path: string, folder: string): Promise<FileReport[]> {
  const store = openStore(path);
  const run = new ImportRun(store, { format: "auto", onProgress: () => {} });
  const reports: FileReport[] = [];
  const progress = new Progress("files", filesIn(folder).length);
  for await (const file of walkFiles([folder])) {
    reports.push(await run.read(file));
    progress.reach(reports.length);
  }
  progress.end();
  store.close();
  return reports;
}

function coverage(source: string, reports: readonly FileReport[], stored: ReadonlyMap<string, number>) {
  const wanted = new Map<string, number>();
  let damagedCount = 0;
  let reportedCount = 0;
  for (const path of filesIn(source)) {
    const { counts, damagedLines } = entriesIn(readFileSync(path, "utf8"));
    // Several files may contain the same entries. The store must hold each entry as often as one file does.
    for (const [key, count] of counts) wanted.set(key, Math.max(wanted.get(key) ?? 0, count));
    const warned = new Set(reports.find((report) => report.path === path)?.warnings.map(({ line }) => line));
    damagedCount += damagedLines.length;
    reportedCount += damagedLines.filter((line) => warned.has(line)).length;
  }
  const { missing } = difference(wanted, stored);
  const entries = sum([...wanted.values()]);
  return { entries, entriesInStore: entries - missing, damagedLines: damagedCount, damagedReported: reportedCount };
}

async function killImports(path: string, folder: string, importMs: number): Promise<number> {
  let killed = 0;
  for (let index = 0; index < KILLS; index++) {
    // Kills are spread evenly over the time of a clean import. Earlier imports make later ones faster, so some finish.
    const child = spawn(process.execPath, ["--import", "tsx", CHILD, path, folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once("exit", (_, signal) => resolve(signal)));
    await new Promise<void>((resolve) => {
      child.stdout.once("data", () => resolve());
      child.once("exit", () => resolve());
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), (importMs * (index + 0.5)) / KILLS);
    if ((await ended) === "SIGKILL") killed += 1;
    clearTimeout(timer);
  }
  return killed;
}

function readStore(path: string) {
  const store = openStore(path, { readonly: true });
  const problemCount = problemsOf(store);
  const rows: unknown[] = [];
  const parts = new Map<string, number>();
  const messages = new Map<string, number>();
  for (const { id } of store.sessions().sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const session = store.resume(id);
    const { source, externalId, parentSessionId, project, title } = session.info();
    rows.push([id, source, externalId, parentSessionId, project, title]);
    for (let seqFrom = 0; ; seqFrom += 1_000) {
      const page = session.messages({ seqFrom, seqTo: seqFrom + 999 });
      for (const message of page) {
        rows.push([
          id,
          message.seq,
          message.role,
          message.externalId,
          message.parts,
          message.metadata,
          message.createdAtMs,
        ]);
        for (const part of message.parts) {
          const key = entryOfPart(part);
          if (key !== undefined) increase(parts, key);
        }
        const { seq, role, externalId } = message;
        increase(messages, JSON.stringify([id, seq, role, externalId, message.parts]));
      }
      if (page.length === 0) break;
    }
  }
  store.close();
  return { rows, parts, messages, problemCount };
}

function problemsOf(store: Store): number {
  return store.verify().problemCount;
}

/** Counts the items of `wanted` that `found` lacks, and the items of `found` that `wanted` lacks. */
function difference(wanted: ReadonlyMap<string, number>, found: ReadonlyMap<string, number>) {
  const lack = (a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number =>
    sum([...a].map(([key, count]) => Math.max(0, count - (b.get(key) ?? 0))));
  return { missing: lack(wanted, found), extra: lack(found, wanted) };
}

function increase(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => /\.jsonl?$/.test(basename(path)));
}
