import { extractiveSummarizer } from "../models/extractive-summarizer.ts";
import { NO_COSTS } from "../store/costs.ts";
import type { MakingResult, ResolveRun } from "./resolve-run.ts";
import { planReading, type Reading, summarize } from "./summarize.ts";

const summarizer = extractiveSummarizer();

/** What the row of a summary says that stands in for another. */
export type StandInResult = MakingResult & { standsIn: true };

/**
 * Let the extractive summarizer read what the store's own could not, or was not asked to: at no cost, on this machine, and of
 * less use. What it fails at, or cannot make shorter, stays as it is.
 *
 * @param record  @returns whether it was written.
 * @throws the signal's reason if it is aborted; what the store throws.
 */
export async function standInFor(
  run: ResolveRun,
  handle: string,
  reading: Reading,
  record: (made: StandInResult) => boolean,
): Promise<void> {
  const { signal, tokenCounter, clock } = run.options;
  if (run.options.summarizer.isLocal) return; // it would do no better
  const plan = planReading(reading, (text) => tokenCounter.count(text));
  const outcome = await summarize(plan, { summarizer, tokenCounter, signal });
  signal.throwIfAborted();
  if (outcome.status !== "done") return;
  const { id: summarizerId, promptVersion } = summarizer;
  const making = { summarizerId, promptVersion, attempts: 1, createdAtMs: clock() };
  if (record({ ...making, ...NO_COSTS, ...outcome, claimant: null, standsIn: true }))
    run.stoodIn(handle, outcome.tokenCount);
}
