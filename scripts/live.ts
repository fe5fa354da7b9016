import { estimatingTokenCounter } from "../src/core/tokens.ts";
import { geminiSummarizer, StoreError, type Summarizer } from "../src/index.ts";

/**
 * `npm run live`: the smallest real round trip, one summary of three messages. Costs a fraction of a cent. Without a key it
 * says so and is done; what the service refuses is said with its hint, and the exit code is 1.
 */
const SOURCES = [
  { role: "user", text: "The login page answers 500 since this morning. Please find out why." },
  { role: "assistant", text: "LOGIN_DB_URL in config/production.yaml points at db1, which was switched off at 06:30." },
  { role: "user", text: "Point it at db2, but keep db1 as a fallback for a week." },
] as const;

const summarizer = summarizerWithKey();
if (summarizer === undefined) {
  console.log("There is no key: set GEMINI_API_KEY or GOOGLE_API_KEY. Nothing was sent.");
} else {
  try {
    await summarize(summarizer);
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    console.error(`${error.code}: ${error.message} ${error.hint ?? ""}`);
    process.exitCode = 1;
  }
}

function summarizerWithKey(): Summarizer | undefined {
  try {
    return geminiSummarizer();
  } catch (error) {
    if (StoreError.is(error, "MODEL_KEY_MISSING")) return undefined;
    throw error;
  }
}

async function summarize({ id, summarize }: Summarizer): Promise<void> {
  const startedAt = performance.now();
  const { title, text } = await summarize({
    previous: [],
    sources: SOURCES.map((source, seq) => ({ ...source, seq, createdAtMs: 0 })),
    tokensMax: 200,
    countTokens: (counted) => estimatingTokenCounter.count(counted),
    signal: new AbortController().signal,
  });
  console.log(`${id} answered in ${Math.round(performance.now() - startedAt)} ms.\n\n${title}\n\n${text}`);
}
