import { extractiveSummarizer } from "../models/extractive-summarizer.ts";
import { NO_COSTS } from "../store/costs.ts";
import type { MakingResult, ResolveRun } from "./resolve-run.ts";
import { planReading, type Reading, summarize } from "./summarize.ts";

const summarizer = extractiveSummarizer();

export type StandInResult = MakingResult & { standsIn: true };

/**
 * Makes a summary with the extractive summarizer, which costs nothing but is of less use. If it fails, or if its summary is no
 * shorter than the sources, nothing is recorded.
 *
 * @param record  Returns true if the summary was written.
 * @throws the signal's reason if it is aborted; what the store throws.
 */
export async function standInFor(
  run: ResolveRun,
  handle: string,
  reading: Reading,
  record: (made: StandInResult) => boolean,
): Promise<void> {
  const { signal, tokenCounter, clock } = run.options;
  if (run.options.summarizer.isLocal) return; // the extractive summarizer would do no better
  const plan = planReading(reading, (text) => tokenCounter.count(text));
  const outcome = await summarize(plan, { summarizer, tokenCounter, signal });
  signal.throwIfAborted();
  if (outcome.status !== "done") return;
  const { id: summarizerId, promptVersion } = summarizer;
  const making = { summarizerId, promptVersion, attempts: 1, createdAtMs: clock() };
  if (record({ ...making, ...NO_COSTS, ...outcome, claimant: null, standsIn: true }))
    run.stoodIn(handle, outcome.tokenCount);
}
