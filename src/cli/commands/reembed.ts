import { Option } from "commander";
import type { ReembedEstimate, ReembedResult, Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { interruptible } from "../interruption.ts";
import { wholeNumberOption } from "../options.ts";
import { progressOf } from "../screen/progress.ts";
import { formatCount, formatNumber } from "../screen/text.ts";

interface ReembedFlags {
  embedder?: string;
  dimension?: number;
  dryRun?: true;
  yes?: true;
}

export const reembedCommand: Command<ReembedFlags> = {
  usage: "reembed",
  summary: "Grow the forest again with another embedder, while the store stays in use.",
  details:
    "A run that was stopped continues where it stopped. Handles keep their meaning. Clusters whose messages change are " +
    "summarized again. Programs that have the store open must open it again. The servers ollama, lmstudio, llamacpp and vllm " +
    "run on this machine; with openai, voyage and mistral, the texts are sent to them. A run that costs money needs --yes; " +
    "--dry-run shows the cost. With --json: {estimate, result}; a dry run has similarityMin, and its result is null.",
  options: [
    new Option(
      "--embedder <name>",
      "hashing, gemini, SERVER:MODEL, folder:PATH, or an id (default: the one in use, to add missing vectors)",
    ),
    wholeNumberOption("dimension", "the dimension of the model's vectors", 1),
    new Option("--dry-run", "only show the estimated cost"),
    new Option("--yes", "run although it costs money"),
  ],
  examples: ["--embedder gemini --dry-run", "--embedder gemini --yes", "--embedder ollama:nomic-embed-text"],

  async run({ options: { embedder: name, dimension, dryRun = false, yes = false }, loadStores, terminal }) {
    const { embedderNamed, embedderWithId } = await import("../../session/embedder-choice.ts");
    const stores = await loadStores();
    const store = dryRun ? stores.openToRead() : stores.openToReembed();
    const inUse = embedderInUse(store);
    const isKept = name === undefined && dimension === undefined && inUse !== undefined;
    const embedder = isKept
      ? embedderWithId(inUse, { keyless: dryRun })
      : embedderNamed(name ?? inUse ?? "hashing", dimension, { keyless: dryRun });
    const estimate = await store.reembed({ embedder, dryRun: true });
    const { internalsOf } = await import("../../session/opened-store.ts"); // loaded by now
    const measure = () => internalsOf(store).measuredSimilarity(embedder);
    if (dryRun) {
      const measured = await measure();
      const similarityMin = { inUse: embedder.similarityMin, measured };
      return {
        value: { estimate, similarityMin, result: null },
        lines: [...estimateLines(estimate), ...similarityLines(similarityMin)],
      };
    }
    if (estimate.costUsd !== 0 && estimate.toEmbedCount > 0 && !yes) {
      const hint = "Run the command again with --yes to proceed, or with --dry-run to see the estimate.";
      throw new Failure("USAGE_INVALID", `This costs money: ${costText(estimate)}.`, { hint });
    }
    const progress = {
      embed: progressOf(terminal, "embedding"),
      grow: progressOf(terminal, "growing"),
      switch: progressOf(terminal, "switching"),
    };
    // The measured cosine is no reason to grow a forest again in which nothing is missing.
    const measured = estimate.from === estimate.to && estimate.toEmbedCount === 0 ? null : await measure();
    const hint = "The vectors made so far are kept. Run the command again to continue.";
    const result = await interruptible(hint, (signal) =>
      store.reembed({
        embedder,
        ...(measured !== null && { similarityMin: measured }),
        signal,
        onProgress: ({ phase, doneCount, totalCount }) => progress[phase](doneCount, totalCount),
      }),
    );
    return { value: { estimate, result }, lines: [resultLine(result)] };
  },
};

function* similarityLines({ inUse, measured }: { inUse: number; measured: number | null }): Generator<string> {
  if (measured === null) return;
  yield `A step would join a cluster at a cosine of ${measured.toFixed(2)} or more, as measured on this store, instead of ${inUse}.`;
}

/** Returns the id of the store's embedder. It is the default, because another one may cost money. */
function embedderInUse(store: Store): string | undefined {
  const [generation] = store.query("SELECT embedder_id FROM generations ORDER BY id DESC LIMIT 1");
  return generation && String(generation.embedder_id);
}

function* estimateLines(estimate: ReembedEstimate): Generator<string> {
  const { from, to, sentTo, messageCount, toEmbedCount, summarizedClusterCount } = estimate;
  yield `From ${from} to ${to}.`;
  if (sentTo !== undefined) yield `The texts leave the machine: they are sent to ${sentTo}.`;
  yield `${formatCount(messageCount, "message")}, of which ${formatNumber(toEmbedCount)} would be embedded: ${costText(estimate)}.`;
  if (summarizedClusterCount === 0) return;
  yield `${formatCount(summarizedClusterCount, "cluster")} with a summary; those whose messages change would be summarized again.`;
}

function costText({ tokenCount, costUsd }: ReembedEstimate): string {
  const tokens = `about ${formatCount(tokenCount, "token")}`;
  if (costUsd === undefined) return `${tokens}, at an unknown price`;
  return costUsd === 0 ? tokens : `${tokens}, about ${costUsd.toFixed(2)} US dollars`;
}

function resultLine({ reembedded, to, embeddedCount, carriedSummaryCount }: ReembedResult): string {
  if (!reembedded) return `Nothing to do: the forest is grown with ${to}, and every message in it has a vector.`;
  const kept = formatCount(carriedSummaryCount, "summary", "summaries");
  return `The forest is grown with ${to}: ${formatCount(embeddedCount, "message")} embedded, ${kept} kept.`;
}
