import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Session, type Store } from "../../src/index.ts";
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
      session.append(Array.from({ length: Math.min(left, BATCH) }, () => said.next().value!));
    }
    goBack(session, 1); // prepares the statements
    const shorts = Array.from({ length: ROUNDS }, () => SHORT.map((count) => goBack(session, count))).flat();
    const end = stepEnd(session, messages - 1);
    const warmUp = forkAt(session, end); // prepares the statements
    const bytes = [usedBytes(store)];
    const heads = Array.from({ length: ROUNDS * SHORT.length }, () => forkAt(session, end));
    bytes.push(usedBytes(store));
    const firsts = heads.map(({ fork }) => took(() => fork.append({ role: "user", content: "And now?" })));
    const grown = usedBytes(store);
    const pasts = Array.from({ length: ROUNDS }, (_, round) => {
      return forkAt(session, stepEnd(session, Math.floor(((round + 1) * messages) / (ROUNDS + 1))));
    });
    const pastForkBytes = (usedBytes(store) - grown) / pasts.length;
    session.render();
    const rendered = [...heads.slice(0, ROUNDS), ...pasts].map(({ fork }) => took(() => fork.render()));
    const [headRenders, pastRenders] = [rendered.slice(0, ROUNDS), rendered.slice(ROUNDS)];
    const pastAppends = pasts.map(({ fork }) => took(() => fork.append({ role: "user", content: "And now?" })));
    for (const { fork } of [warmUp, ...heads, ...pasts]) store.forget(fork.id);
    const long = goBack(session, Math.min(LONG, messages - 1));
    const figures = {
      messages,
      rewindMs100k: medianOf(shorts.map(({ rewind }) => rewind.ms)),
      rewindCpuMs: medianOf(shorts.map(({ rewind }) => rewind.cpuMs)),
      rewindMsMax: Math.max(...shorts.map(({ rewind }) => rewind.ms)),
      rewindCpuMsMax: Math.max(...shorts.map(({ rewind }) => rewind.cpuMs)),
      undoMs: medianOf(shorts.map(({ undo }) => undo.ms)),
      undoCpuMs: medianOf(shorts.map(({ undo }) => undo.cpuMs)),
      forkMs: medianOf(heads.map(({ ms }) => ms)),
      forkCpuMs: medianOf(heads.map(({ cpuMs }) => cpuMs)),
      forkBytes: (bytes[1]! - bytes[0]!) / heads.length,
      forkAppendCpuMs: medianOf(firsts.map(({ cpuMs }) => cpuMs)),
      pastForkMs: medianOf(pasts.map(({ ms }) => ms)),
      pastForkCpuMs: medianOf(pasts.map(({ cpuMs }) => cpuMs)),
      pastForkBytes,
      forkRenderCpuMs: medianOf(headRenders.map(({ cpuMs }) => cpuMs)),
      pastForkRenderCpuMs: medianOf(pastRenders.map(({ cpuMs }) => cpuMs)),
      pastForkAppendCpuMs: medianOf(pastAppends.map(({ cpuMs }) => cpuMs)),
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
  const toSeq = session.messages({ last: 1 })[0]!.seq - count;
  const rewind = took(() => session.rewind({ toSeq }));
  return { rewind, undo: took(() => session.undo()) };
}

function forkAt(session: Session, toSeq: number): Took & { fork: Session } {
  let fork!: Session;
  const time = took(() => {
    fork = session.fork({ toSeq });
  });
  return { ...time, fork };
}

/** The bytes of all rows and of their keys in indexes. Pages are too coarse. */
function usedBytes(store: Store): number {
  return Number(store.query("SELECT sum(payload) AS bytes FROM dbstat")[0]!.bytes);
}

/** The last seq up to a seq at which a fork can begin. */
function stepEnd(session: Session, seq: number): number {
  const [message, next] = session.messages({ seqFrom: seq, limit: 2 });
  const isEnd = message!.role === "user" || (message!.role === "assistant" && message!.stepId !== next?.stepId);
  return isEnd && message!.parts.every(({ type }) => type !== "tool_call") ? seq : stepEnd(session, seq - 1);
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
