import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type RenderOptions, type Session } from "../../src/index.ts";
import { conversation } from "./conversations.ts";
import { median, quantile, take } from "./messages.ts";
import { type BenchQuestion, questions } from "./recall-questions.ts";
import { projectOf, recallStore, SESSIONS } from "./recall-store.ts";

const MESSAGES = 10_000;
const LARGE = 100_000;
const QUESTIONS = 200;
/** The number of renders before any is timed, so that code is compiled and the file is in the system's cache. */
const WARMING = 50;
const SEED = 3;
const TOKENS_MAX = 16_000;

export interface ContextBenchOptions {
  /** The folder with the store of 100,000 messages of `bench -- recall`. Without it, that store's figures are left out. */
  folder?: string | undefined;
}

/**
 * Measures the time of a render in milliseconds: in a session of 10,000 messages of real length, with and without a query, and in a
 * session that searches a project of a store of 100,000 messages. No question is asked twice.
 */
export async function benchContext({ folder }: ContextBenchOptions = {}): Promise<{
  name: "context";
  figures: Record<string, number>;
}> {
  const scratch = mkdtempSync(join(tmpdir(), "coppice-bench-context-"));
  try {
    return { name: "context", figures: { ...(await sessionFigures(scratch)), ...(await projectFigures(folder)) } };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function sessionFigures(folder: string): Promise<Record<string, number>> {
  const store = openStore(join(folder, "context.db"));
  const session = store.session("long");
  // Questions are asked in the words of the first sessions of the store of `bench -- recall`; this is one of them.
  const messages = conversation(1, { length: "real" });
  for (let count = 0; count < MESSAGES; count += 100) session.append(take(messages, 100));
  await session.resolveDirty();
  session.compact();
  const asked = questions(WARMING + QUESTIONS, SEED);
  const figures = {
    ...timesOf("renderQuery", asked, (question) => render(session, question)),
    ...timesOf("renderQuery2k", asked, (question) => render(session, question, { tokensMax: 2_000 })),
    // The budget differs each time, so that no context comes from the cache.
    ...timesOf("render", asked, (_, index) => session.render({ tokensMax: TOKENS_MAX + index })),
  };
  store.close();
  return figures;
}

async function projectFigures(folder: string | undefined): Promise<Record<string, number>> {
  if (folder === undefined) {
    console.error("No --folder: figures of a project in a store of 100,000 messages are left out.");
    return {};
  }
  const path = join(folder, `recall-${LARGE}.db`);
  await recallStore(path, LARGE);
  const store = openStore(path, { readonly: true });
  // The first session of the largest project.
  const number = Array.from({ length: SESSIONS }, (_, index) => index).find((at) => projectOf(at) === "project-0")!;
  const session = store.resume(`session-${number}`);
  const asked = questions(WARMING + QUESTIONS, SEED);
  const figures = timesOf("renderQueryProject100k", asked, (question) =>
    render(session, question, { scope: "project" }),
  );
  store.close();
  return figures;
}

function render(session: Session, { text }: BenchQuestion, options: RenderOptions = {}): void {
  session.render({ tokensMax: TOKENS_MAX, query: text, ...options });
}

function timesOf(
  name: string,
  asked: readonly BenchQuestion[],
  run: (question: BenchQuestion, index: number) => void,
): Record<string, number> {
  const times = asked.map((question, index) => {
    const from = performance.now();
    run(question, index);
    return performance.now() - from;
  });
  const timed = times.slice(WARMING);
  return { [`${name}P50Ms`]: median(timed), [`${name}P95Ms`]: quantile(timed, 0.95) };
}
