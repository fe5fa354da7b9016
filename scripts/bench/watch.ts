import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/index.ts";
import { transcriptLine } from "./transcript-line.ts";

const CHILD = fileURLToPath(new URL("watch-child.ts", import.meta.url));

/** The number of lines that are written and timed. */
const LINES = 100;

/** The least milliseconds between a line's arrival and the next line. A random delay of up to as much is added. */
const LINE_EVERY_MS = 200;

/** The number of files that nobody writes to, about a year of work. */
const QUIET_FILES = 2_000;
const FOLDERS = 100;

interface Taken {
  cpuMs: number;
  rssMb: number;
}

/**
 * Follows a folder of Claude Code transcripts in another process, and writes line after line to a long transcript.
 *
 * - `watchCatchUpMs`: the time until everything that existed is in the store.
 * - `watchLatencyP50Ms`, `…P99Ms`: the time from the write of a line until another process finds its message in the store.
 * - `watchLineCpuMs`: the CPU time of the watch for each line, which does not depend on the length of the file.
 * - `watchIdleCpuMsPerMinute`: the CPU time of the watch while nobody writes.
 *
 * @param options.megabytes  The size of the long transcript.
 * @param options.idleSeconds  The time in which nobody writes.
 */
export async function benchWatch({ megabytes = 50, idleSeconds = 60 } = {}): Promise<{
  name: string;
  figures: Record<string, number>;
}> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-"));
  const path = join(folder, "agent.db");
  const transcripts = join(folder, "transcripts");
  let child: ChildProcess | undefined;
  try {
    const long = writeTranscripts(transcripts, megabytes * 1e6);
    const fromMs = performance.now();
    child = fork(CHILD, [path, transcripts], { execArgv: ["--import", "tsx"] });
    await once(child, "message");
    const catchUpMs = performance.now() - fromMs;
    await settled(child);
    const before = await takenBy(child);
    const latencyMs = await latencies(path, long);
    const after = await takenBy(child);
    await settled(child);
    const idleFrom = await takenBy(child);
    await wait(idleSeconds * 1_000);
    const idleTo = await takenBy(child);
    const at = (share: number): number => latencyMs[Math.min(LINES - 1, Math.floor(LINES * share))]!;
    return {
      name: "watch",
      figures: {
        watchCatchUpMs: catchUpMs,
        watchLatencyP50Ms: at(0.5),
        watchLatencyP99Ms: at(0.99),
        watchLineCpuMs: (after.cpuMs - before.cpuMs) / LINES,
        watchIdleCpuMsPerMinute: ((idleTo.cpuMs - idleFrom.cpuMs) * 60) / idleSeconds,
        watchRssMb: idleTo.rssMb,
      },
    };
  } finally {
    if (child?.connected) {
      child.disconnect();
      await once(child, "exit");
    }
    rmSync(folder, { recursive: true });
  }
}

/** Returns the milliseconds of each line, the shortest first. */
async function latencies(path: string, transcript: { path: string; lineCount: number }): Promise<number[]> {
  const store = openStore(path, { readonly: true });
  const count = "SELECT max(id) AS newest FROM messages";
  const newest = (): number => Number([...store.query(count)][0]!.newest);
  const takenMs: number[] = [];
  for (let index = 0; index < LINES; index++) {
    await wait(LINE_EVERY_MS * (1 + Math.random()));
    const before = newest();
    appendFileSync(transcript.path, lineOf("long", transcript.lineCount + index));
    const fromMs = performance.now();
    while (newest() === before) await wait(2);
    takenMs.push(performance.now() - fromMs);
  }
  store.close();
  return takenMs.sort((a, b) => a - b);
}

/** Waits until the watch has summarized everything. */
async function settled(child: ChildProcess): Promise<void> {
  for (let before = await takenBy(child); ; ) {
    await wait(2_000);
    const now = await takenBy(child);
    if (now.cpuMs - before.cpuMs < 10) return;
    before = now;
  }
}

async function takenBy(child: ChildProcess): Promise<Taken> {
  child.send("taken");
  const [taken] = await once(child, "message");
  return taken as Taken;
}

function writeTranscripts(folder: string, byteCount: number): { path: string; lineCount: number } {
  mkdirSync(folder);
  for (let index = 0; index < QUIET_FILES; index++) {
    const project = join(folder, `project-${index % FOLDERS}`);
    mkdirSync(project, { recursive: true });
    const session = `quiet-${index}`;
    writeFileSync(join(project, `${session}.jsonl`), lineOf(session, 0) + lineOf(session, 1));
  }
  const path = join(folder, "project-0", "long.jsonl");
  let lineCount = 0;
  for (let byteLength = 0; byteLength < byteCount; ) {
    const lines = Array.from({ length: 1_000 }, () => lineOf("long", lineCount++)).join("");
    appendFileSync(path, lines);
    byteLength += Buffer.byteLength(lines);
  }
  return { path, lineCount };
}

/** Returns a line: prompts and answers alternate. */
function lineOf(sessionId: string, line: number): string {
  const content = `Step ${line}: the harbor gauge ${line % 97} reads low at tide ${line % 13}. ${"It was checked against the log. ".repeat(30)}`;
  const role = line % 2 === 1 ? "assistant" : "user";
  return `${JSON.stringify(transcriptLine({ role, content }, sessionId, line))}\n`;
}
