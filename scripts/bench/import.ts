import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type MessageInput, openStore } from "../../src/index.ts";
import { buildPackage } from "../../test/support/build.ts";
import { sessionMessages } from "./messages.ts";
import { transcriptLine } from "./transcript-line.ts";

const CHILD = fileURLToPath(new URL("import-child.mjs", import.meta.url));

/** The bytes of one transcript, about a long day's work. */
const FILE_BYTES = 4 * 1024 * 1024;

/** The time between two appends of the process that works while another imports, in milliseconds. */
const APPEND_EVERY_MS = 10;

/** How often this process asks for the first hit of an import, and for how long, in milliseconds. */
const ASK_EVERY_MS = 20;
const ASK_MS_MAX = 60_000;

/** The time and memory of an import, as its own process reports them. */
interface ImportTaken {
  ms: number;
  /** The time of all its threads on a processor. */
  cpuMs: number;
  /** The peak memory of the process, in MB. */
  rssMb: number;
}

/**
 * Imports a folder of Claude Code transcripts in another process, three times: until this process finds something, alone, and while
 * this process appends.
 *
 * - `firstHitMs`: from the start of the process until a recall here finds a message of the newest session.
 * - `importMbPerSecond`, `importMbPerCpuSecond`, `importRssMb`: the speed of the import alone, by the clock and by the time that its
 *   threads take, and the peak memory of its whole process.
 * - `importBlocksAppendP50Ms`, `…P99Ms`, `…MaxMs`: the duration of appends to another session of the same file meanwhile.
 *
 * Uses the built package, because a TypeScript loader takes time and memory itself, and does not run in threads.
 *
 * @param megabytes  The size of the transcripts.
 */
export async function benchImport(megabytes = 200): Promise<{ name: string; figures: Record<string, number> }> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-"));
  const built = buildPackage();
  try {
    const importInto = (name: string) => startImport(built.folder, join(folder, name), transcripts);
    const transcripts = join(folder, "transcripts");
    const { byteLength, count } = writeTranscripts(transcripts, megabytes * 1e6);
    const firstHitMs = await firstHit(join(folder, "first.db"), count - 1, () => importInto("first.db"));
    const alone = await importInto("alone.db").taken;
    const appendMs = await appendDuring(join(folder, "shared.db"), () => importInto("shared.db"));
    const at = (share: number): number => appendMs[Math.min(appendMs.length - 1, Math.floor(appendMs.length * share))]!;
    return {
      name: "import",
      figures: {
        importMb: byteLength / 1e6,
        importMbPerSecond: byteLength / 1e3 / alone.ms,
        importMbPerCpuSecond: byteLength / 1e3 / alone.cpuMs,
        firstHitMs,
        importRssMb: alone.rssMb,
        importBlocksAppendP50Ms: at(0.5),
        importBlocksAppendP99Ms: at(0.99),
        importBlocksAppendMaxMs: at(1),
        importBlocksAppends: appendMs.length,
      },
    };
  } finally {
    rmSync(folder, { recursive: true });
    built.remove();
  }
}

/** Returns the milliseconds until a recall finds a message of the newest session, and stops the import. */
async function firstHit(path: string, newest: number, start: () => StartedImport): Promise<number> {
  const { content } = sessionMessages(newest).next().value as MessageInput;
  const from = performance.now();
  const { stop } = start();
  const isFound = async (): Promise<boolean> => {
    if (!existsSync(path)) return false;
    const store = openStore(path, { readonly: true });
    try {
      const hits = await store.recall(String(content).slice(0, 200));
      return hits.some(({ sessionId }) => sessionId === `session-${newest}`);
    } finally {
      store.close();
    }
  };
  while (!(await isFound().catch(() => false))) {
    if (performance.now() > from + ASK_MS_MAX) throw new Error("A recall during the import finds nothing.");
    await wait(ASK_EVERY_MS);
  }
  const ms = performance.now() - from;
  await stop();
  return ms;
}

/** Returns the milliseconds of each append while an import runs, the shortest first. */
async function appendDuring(path: string, start: () => StartedImport): Promise<number[]> {
  const store = openStore(path);
  const session = store.session("at-work");
  const messages = sessionMessages(99);
  const appendMs: number[] = [];
  const { begun, taken } = start();
  let isOver = false;
  void taken.finally(() => {
    isOver = true;
  });
  await begun;
  while (!isOver) {
    const message = messages.next().value as MessageInput;
    const from = performance.now();
    session.append(message);
    appendMs.push(performance.now() - from);
    await wait(APPEND_EVERY_MS);
  }
  await taken;
  store.close();
  return appendMs.sort((a, b) => a - b);
}

interface StartedImport {
  begun: Promise<void>;
  taken: Promise<ImportTaken>;
  /** Kills the process. */
  stop: () => Promise<void>;
}

function startImport(packageFolder: string, path: string, transcripts: string): StartedImport {
  const child = spawn(process.execPath, [CHILD, packageFolder, path, transcripts], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  const begun = new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
  const taken = new Promise<ImportTaken>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(stdout.trim().split("\n").at(-1)!));
      else reject(new Error(`The import ended with ${code}.`));
    });
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await taken.catch(() => {});
  };
  return { begun, taken, stop };
}

/** Writes files as Claude Code does, one session each, the oldest first. */
function writeTranscripts(folder: string, byteCount: number): { byteLength: number; count: number } {
  mkdirSync(folder);
  let total = 0;
  let index = 0;
  for (; total < byteCount; index++) {
    const id = `${String(index).padStart(8, "0")}-1111-4111-8111-111111111111`;
    const file = openSync(join(folder, `${id}.jsonl`), "w");
    let size = 0;
    let line = 0;
    for (const message of sessionMessages(index)) {
      if (size >= FILE_BYTES) break;
      size += writeSync(file, `${JSON.stringify(transcriptLine(message, `session-${index}`, line++))}\n`);
    }
    closeSync(file);
    total += size;
  }
  return { byteLength: total, count: index };
}
