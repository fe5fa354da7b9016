import { withProgress } from "../progress.ts";
import { fixedRuns, nearestByTfIdf } from "./cluster-baselines.ts";
import { type Channel, type EvalMessage, readChannels, readThreads } from "./cluster-data.ts";
import { PublishedCompactor } from "./experiment/published.ts";
import { bCubedF, largestShare, mean, oneToOneOverlap, singletonShare } from "./measures.ts";
import { storedForest } from "./store-forest.ts";

const THREAD_MESSAGES = 120;
/** The messages of a thread that stay in the window. All others are cold. */
const HOT_SIZE = 30;

/**
 * Measures how well clusters and themes separate topics.
 *
 * - `largestThemeShare`, `largestClusterShare`, `singletonShare`: over the cold messages of each thread, the mean share of
 *   the largest theme, of the largest cluster, and of messages alone in their cluster; in [0, 1].
 * - `largestThemeShare.published`: the share of the largest cluster of the published union-find compactor.
 * - `irc.b3F`, `irc.oneToOne`: clusters of a channel's messages against the conversations that people annotated, in
 *   percent. `.fixedRuns` and `.tfidf` are the same figures for runs of the same mean size and for the nearest message by TF-IDF.
 *
 * @param dataFolder  The folder with `threads/` and `irc/`. A missing one is skipped, with a note on stderr.
 */
export async function evaluateClusters(
  dataFolder: string,
): Promise<{ name: "clusters"; figures: Record<string, number> }> {
  const figures: Record<string, number> = {};
  const conversations = readThreads(dataFolder, THREAD_MESSAGES);
  const threads = Array.from(withProgress("threads", conversations), (messages) => storedForest(messages, HOT_SIZE));
  if (threads.length === 0) console.error(`No threads in ${dataFolder}: their figures are left out.`);
  else {
    figures.largestThemeShare = round(mean(threads.map(({ themes }) => largestShare(themes))), 3);
    figures.largestClusterShare = round(mean(threads.map(({ clusters }) => largestShare(clusters))), 3);
    figures["largestThemeShare.published"] = round(mean(conversations.map(publishedLargestShare)), 3);
    figures.singletonShare = round(mean(threads.map(({ clusters }) => singletonShare(clusters))), 3);
  }

  const channels = readChannels(dataFolder);
  if (channels.length === 0) console.error(`No IRC channels in ${dataFolder}: their figures are left out.`);
  else {
    // The newest message never graduates: it counts as alone.
    const found = Array.from(withProgress("channels", channels), ({ messages }) => [
      ...storedForest(messages, 1).clusters,
      -1,
    ]);
    const texts = channels.map(({ messages }) => messages.map(({ text }) => text));
    Object.assign(figures, channelFigures(channels, found, ""));
    Object.assign(figures, channelFigures(channels, found.map(fixedRuns), ".fixedRuns"));
    Object.assign(figures, channelFigures(channels, texts.map(nearestByTfIdf), ".tfidf"));
  }
  return { name: "clusters", figures };
}

function publishedLargestShare(messages: readonly EvalMessage[]): number {
  const compactor = new PublishedCompactor();
  const cold = messages.slice(0, -HOT_SIZE);
  for (const { text } of cold) compactor.graduate(text);
  return Math.max(...compactor.clusters().map((members) => members.length)) / cold.length;
}

/** Returns both measures over all annotated lines. An event of the server belongs to no conversation, so it is alone. */
export function channelFigures(
  channels: readonly Channel[],
  found: readonly (readonly number[])[],
  suffix: string,
): Record<string, number> {
  const pooled: { found: string[]; gold: string[] } = { found: [], gold: [] };
  let agreed = 0;
  for (const [index, { annotated, gold }] of channels.entries()) {
    const labels = annotated.map((message, line) =>
      message === undefined ? `event ${line}` : String(found[index]![message]),
    );
    // No cluster is in two channels, so the channels are paired separately.
    agreed += oneToOneOverlap(labels, gold) * labels.length;
    pooled.found.push(...labels.map((label) => `${index} ${label}`));
    pooled.gold.push(...gold.map((label) => `${index} ${label}`));
  }
  return {
    [`irc.b3F${suffix}`]: round(100 * bCubedF(pooled.found, pooled.gold), 1),
    [`irc.oneToOne${suffix}`]: round((100 * agreed) / pooled.found.length, 1),
  };
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
