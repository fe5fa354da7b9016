import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Session } from "../../src/index.ts";
import { sessionMessages } from "./messages.ts";

/** How many messages the rewinds supersede. */
const SHORT = [1, 3, 10, 30, 100];
const ROUNDS = 4;
const LONG = 5_000;
const BATCH = 1_000;

interface Took {
  ms: number;
  cpuMs: number;
}

/** Measures rewinds in one session, and how long it takes to take them back. */
export async function benchHead(messages = 100_000) {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-"));
  const store = openStore(join(folder, "agent.db"));
  try {
    const session = store.session("s");
    const said = sessionMessages(1);
    for (let left = messages; left > 0; left -= BATCH) {
      session.appendAll(Array.from({ length: Math.min(left, BATCH) }, () => said.next().value!));
    }
    goBack(session, 1); // prepares the statements
    const shorts = Array.from({ length: ROUNDS }, () => SHORT.map((count) => goBack(session, count))).flat();
    const long = goBack(session, Math.min(LONG, messages - 1));
    const figures = {
      messages,
      rewindMs100k: medianOf(shorts.map(({ rewind }) => rewind.ms)),
      rewindCpuMs: medianOf(shorts.map(({ rewind }) => rewind.cpuMs)),
      rewindMsMax: Math.max(...shorts.map(({ rewind }) => rewind.ms)),
      rewindCpuMsMax: Math.max(...shorts.map(({ rewind }) => rewind.cpuMs)),
      undoMs: medianOf(shorts.map(({ undo }) => undo.ms)),
      undoCpuMs: medianOf(shorts.map(({ undo }) => undo.cpuMs)),
      longRewindMs: long.rewind.ms,
      longRewindCpuMs: long.rewind.cpuMs,
      longUndoMs: long.undo.ms,
      longUndoCpuMs: long.undo.cpuMs,
    };
    return { name: "head", figures };
  } finally {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Supersedes the last messages, and takes it back. */
function goBack(session: Session, count: number): { rewind: Took; undo: Took } {
  const toSeq = session.newest()!.seq - count;
  const rewind = took(() => session.rewind({ toSeq }));
  return { rewind, undo: took(() => session.undo()) };
}

function took(run: () => void): Took {
  const [fromMs, cpu] = [performance.now(), process.cpuUsage()];
  run();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - fromMs, cpuMs: (user + system) / 1_000 };
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)]!;
}
