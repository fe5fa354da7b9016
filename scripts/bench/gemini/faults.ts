import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ErrorCode, Store } from "../../../src/index.ts";
import {
  ANSWER_FAULTS,
  EMBEDDING_FAULTS,
  type Fault,
  GENERATION_FAULTS,
  TEST_KEY,
} from "../../../test/support/gemini-faults.ts";
import { type GeminiServer, startGeminiServer } from "../../../test/support/gemini-server.ts";
import { summaryTrial } from "./fault-summary.ts";
import { vectorTrial } from "./fault-vectors.ts";

/** A use of the service that meets a fault. */
export interface Trial {
  /** Opens the store of the trial. The caller closes it. */
  open(): Store;
  /** Meets the fault. @returns the code of the typed error that was stored or thrown. */
  fail(): Promise<ErrorCode | undefined>;
  /** Asks again when the service answers. @returns true if the result is as if there had been no fault. */
  heal(): Promise<boolean>;
}

/** Starts a trial with the store in the file at `path`, which is not open between the calls. */
export type StartTrial = (server: GeminiServer, path: string) => Trial;

const TRIALS: { name: string; start: StartTrial; faults: Record<string, Fault> }[] = [
  { name: "embed", start: vectorTrial, faults: EMBEDDING_FAULTS },
  { name: "summarize", start: summaryTrial, faults: { ...GENERATION_FAULTS, ...ANSWER_FAULTS } },
];

/**
 * Tries every fault of a service with everything that calls the service.
 *
 * @param everyNth  Takes every nth fault; 1 for all.
 * @returns `faults`: the percentage of trials that ended with the typed error of the fault, left a store without findings and
 *   without a key, and healed. All others are named on stderr.
 */
export async function faultFigures(everyNth = 1): Promise<{ faults: number }> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-"));
  let [count, good] = [0, 0];
  try {
    for (const { name, start, faults } of TRIALS) {
      for (const [fault, { reply, code }] of Object.entries(faults).filter((_, index) => index % everyNth === 0)) {
        count++;
        const server = await startGeminiServer(reply);
        const wrong = await wrongIn(start, server, join(folder, `${count}.db`), code).finally(() => server.close());
        if (wrong === undefined) good++;
        else console.error(`${name}, ${fault}: ${wrong}`);
      }
    }
    return { faults: (100 * good) / count };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function wrongIn(
  start: StartTrial,
  server: GeminiServer,
  path: string,
  expected: ErrorCode,
): Promise<string | undefined> {
  try {
    const trial = start(server, path);
    const code = await trial.fail();
    if (code !== expected) return `it ended with ${code}, not with ${expected}`;
    const torn = findingsIn(trial);
    if (torn !== undefined) return torn;
    server.script("good");
    if (!(await trial.heal())) return "the next call did not heal it";
    return findingsIn(trial);
  } catch (error) {
    return String(error);
  }
}

function findingsIn({ open }: Trial): string | undefined {
  const store = open();
  try {
    const { ok, problemCount } = store.verify();
    if (!ok) return `verify found ${problemCount}`;
    const errors = store.query("SELECT error FROM summaries");
    const stored = JSON.stringify([...store.export()]) + JSON.stringify(errors);
    return stored.includes(TEST_KEY) ? "the key is in the store" : undefined;
  } finally {
    store.close();
  }
}
