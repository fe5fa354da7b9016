import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { randomFrom } from "../messages.ts";
import { DAMAGES, type IndexFiles } from "./damage.ts";
import { answersOf, openCoordinates, writeIndexedStore } from "./store.ts";

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));
const DIMENSION = 16;

export interface FuzzReport {
  caseCount: number;
  /** The number of processes that died. */
  crashCount: number;
  /** The number of answers that neither the undamaged index nor an exact scan gives. */
  wrongCount: number;
  /** The kinds of damage that caused a crash or a wrong answer. */
  faults: string[];
}

/**
 * Damages the index file of a store, or its sidecar, in every way in turn, and lets other processes search in it.
 *
 * @param caseCount  The number of damaged files. From 18 on, every kind of damage occurs.
 */
export async function fuzzIndex(caseCount: number, seed: number): Promise<FuzzReport> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-index-fuzz-"));
  const report: FuzzReport = { caseCount, crashCount: 0, wrongCount: 0, faults: [] };
  const random = randomFrom(seed);
  let child: Asked | undefined;
  try {
    const path = join(folder, "own.db");
    await writeIndexedStore(path, DIMENSION, 1);
    await writeIndexedStore(join(folder, "foreign.db"), DIMENSION, 2);
    await writeIndexedStore(join(folder, "other.db"), DIMENSION - 4, 3);
    const originals = {
      own: filesOf(path),
      foreign: filesOf(join(folder, "foreign.db")),
      otherDimension: filesOf(join(folder, "other.db")),
    };
    const store = openCoordinates(path, DIMENSION);
    const right = [true, false].map((exact) => answersOf(store, DIMENSION, { exact }));
    store.close();
    const kinds = Object.entries(DAMAGES);
    for (let index = 0; index < caseCount; index++) {
      const [kind, damage] = kinds[index % kinds.length]!;
      putFiles(path, damage(originals, random));
      child ??= await Asked.start();
      const answers = await child.answers(path);
      if (answers === undefined) {
        child = undefined;
        report.crashCount += 1;
        report.faults.push(`case ${index}, ${kind}: the process died`);
      } else if (!right.includes(answers)) {
        report.wrongCount += 1;
        report.faults.push(`case ${index}, ${kind}: a wrong answer`);
      }
    }
    return report;
  } finally {
    await child?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A child process that answers searches until it dies. */
class Asked {
  readonly #child: ChildProcess;
  readonly #death: Promise<undefined>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#death = once(child, "exit").then(() => undefined);
  }

  static async start(): Promise<Asked> {
    const child = fork(CHILD, { execArgv: ["--import", "tsx"], stdio: ["ignore", "ignore", "ignore", "ipc"] });
    await once(child, "message");
    return new Asked(child);
  }

  /** Returns undefined if the process died while it answered. */
  async answers(path: string): Promise<string | undefined> {
    const reply = once(this.#child, "message").then(([message]) => message as string);
    this.#child.send({ path, dimension: DIMENSION });
    return Promise.race([reply, this.#death]);
  }

  async stop(): Promise<void> {
    this.#child.disconnect();
    await this.#death;
  }
}

function filesOf(path: string): IndexFiles {
  return { index: readFileSync(`${path}-coppice-ann.hnsw`), sidecar: readFileSync(`${path}-coppice-ann.json`, "utf8") };
}

function putFiles(path: string, { index, sidecar }: IndexFiles): void {
  for (const [file, content] of [
    [`${path}-coppice-ann.hnsw`, index],
    [`${path}-coppice-ann.json`, sidecar],
  ] as const) {
    rmSync(file, { force: true });
    if (content !== undefined) writeFileSync(file, content);
  }
}
