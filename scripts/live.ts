import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { estimatingTokenCounter } from "../src/core/tokens.ts";
import {
  geminiEmbedder,
  geminiSummarizer,
  openStore,
  type RemoteEmbedder,
  StoreError,
  type Summarizer,
} from "../src/index.ts";
import type { OnUsage } from "../src/models/summarizer.ts";
import { dot } from "../src/vector/vector.ts";

/**
 * `npm run live` calls the real service: for a summary of three messages, for the vectors of two messages and a question, and
 * for one turn of `examples/chat.ts` with a tool call. It costs a fraction of a cent. Without a key it says so and ends. If the service refuses
 * a call, it prints the error with its hint, and the exit code is 1.
 */
const SOURCES = [
  { role: "user", text: "The login page answers 500 since this morning. Please find out why." },
  { role: "assistant", text: "LOGIN_DB_URL in config/production.yaml points at db1, which was switched off at 06:30." },
  { role: "user", text: "Point it at db2, but keep db1 as a fallback for a week." },
] as const;
/** The question shares no words with the message that answers it. */
const QUESTION = "What stays in place in case of trouble?";
const UNRELATED = "Bake the bread at 230 degrees for forty minutes.";

const EXAMPLE = fileURLToPath(new URL("examples/chat.ts", import.meta.url));

const { signal } = new AbortController();

try {
  await summarize(geminiSummarizer());
  await embed(geminiEmbedder());
  await chat();
} catch (error) {
  if (!StoreError.is(error)) throw error;
  if (StoreError.is(error, "MODEL_REFUSED") && error.details.concerns === "key") {
    console.log("There is no key: set GEMINI_API_KEY or GOOGLE_API_KEY. Nothing was sent.");
  } else {
    console.error(`${error.code}: ${error.message} ${error.hint ?? ""}`);
    process.exitCode = 1;
  }
}

async function summarize({ id, summarize }: Summarizer): Promise<void> {
  const { title, text } = await timed(id, (onUsage) =>
    summarize({
      sessionId: "live",
      previous: [],
      sources: SOURCES.map((source, seq) => ({ ...source, seq, createdAtMs: 0 })),
      tokensMax: 200,
      countTokens: (counted) => estimatingTokenCounter.count(counted),
      signal,
      onUsage,
    }),
  );
  console.log(`\n${title}\n\n${text}\n`);
}

async function embed({ id, dimension, similarityMin, embedAll }: RemoteEmbedder): Promise<void> {
  const texts = [SOURCES[2].text, UNRELATED];
  const [about, other] = await timed(id, (onUsage) => embedAll({ texts, task: "document", signal, onUsage }));
  const [question] = await timed(id, (onUsage) => embedAll({ texts: [QUESTION], task: "query", signal, onUsage }));
  const cosines = [about, other].map((vector) => dot(question!, vector!).toFixed(3));
  console.log(
    `\nCosine of the question with what answers it and with something else: ${cosines.join(" and ")}; of those two: ` +
      `${dot(about!, other!).toFixed(3)} (${dimension} numbers; a step joins a cluster from ${similarityMin}).`,
  );
}

/** Runs a call, and prints how long it took and what it cost. */
async function timed<T>(id: string, call: (onUsage: OnUsage) => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  let cost = "";
  const result = await call(({ inputTokens, outputTokens, costUsd }) => {
    cost = `${inputTokens} + ${outputTokens} tokens, ${costUsd?.toFixed(6) ?? "unknown"} US dollars`;
  });
  console.log(`${id} answered in ${Math.round(performance.now() - startedAt)} ms: ${cost}.`);
  return result;
}

/** Runs one turn of the example with a tool call, so that Gemini gets its own signature back. */
async function chat(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-live-"));
  try {
    const path = join(folder, "agent.db");
    const store = openStore(path);
    store.session("before").append(SOURCES.map(({ role, text }) => ({ role, content: text })));
    store.close();
    const input = "Use recall: for how long is db1 kept? One sentence.\n";
    execFileSync(process.execPath, ["--import", "tsx", EXAMPLE, path, "live"], {
      input,
      stdio: ["pipe", "inherit", "inherit"],
    });
    const said = openStore(path, { readonly: true });
    console.log(
      said
        .session("live")
        .messages()
        .map(({ role, parts }) => `${role}: ${parts.map(({ type }) => type)}`),
    );
    said.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
