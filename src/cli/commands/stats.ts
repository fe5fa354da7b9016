import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { formatBytes, formatNumber } from "../text.ts";

type StoreStats = ReturnType<Store["stats"]>;

const LABEL_WIDTH = 16;

export const statsCommand: Command = {
  usage: "stats",
  summary: "Print counts and sizes of the store.",
  details: "With --json: an object of numbers.",
  examples: ["", "--json"],

  async run({ loadStores }) {
    const stats = (await loadStores()).openToRead().stats();
    const lines = statFacts(stats).map(([label, value]) => `${label.padEnd(LABEL_WIDTH)}${value}`);
    return { value: stats, lines };
  },
};

function statFacts(stats: StoreStats): [label: string, value: string][] {
  return [
    ["Store", stats.path],
    ["Size", `${formatBytes(stats.fileBytes)}, and ${formatBytes(stats.walBytes)} of write-ahead log`],
    ["Sessions", formatNumber(stats.sessionCount)],
    ["Messages", formatNumber(stats.messageCount)],
    ["Tokens", formatNumber(stats.tokenCount)],
    ["Clusters", formatNumber(stats.clusterCount)],
    ["Themes", formatNumber(stats.themeCount)],
    ["Summaries", summariesText(stats)],
    ["Paid", paidText(stats)],
    ["Artifacts", `${formatNumber(stats.artifactCount)}, ${formatBytes(stats.artifactBytes)} uncompressed`],
    ["Not indexed", formatNumber(stats.unindexedCount)],
    ...vectorFacts(stats),
    ["Log position", formatNumber(stats.logPosition)],
    ["Embedder", stats.embedderId ?? "none yet"],
  ];
}

/** Returns no facts if every message has its vector. */
function vectorFacts(stats: StoreStats): [string, string][] {
  const { pendingVectorCount, pendingVectorsSinceMs, failedVectorCount, withoutVectorCount } = stats;
  const since =
    pendingVectorsSinceMs === null ? "" : `, the first since ${new Date(pendingVectorsSinceMs).toISOString()}`;
  const facts: [string, string][] = [];
  if (pendingVectorCount > 0) facts.push(["Vectors due", `${formatNumber(pendingVectorCount)}${since}`]);
  if (failedVectorCount > 0) facts.push(["Vectors failed", formatNumber(failedVectorCount)]);
  if (withoutVectorCount > 0) facts.push(["Without vector", formatNumber(withoutVectorCount)]);
  return facts;
}

function summariesText({ summaryCount, standInCount }: StoreStats): string {
  const standIns = standInCount === 0 ? "" : `, ${formatNumber(standInCount)} of them in place of the model's`;
  return formatNumber(summaryCount) + standIns;
}

function paidText({ summaryInputTokens, summaryOutputTokens, summaryCostUsd }: StoreStats): string {
  const cost = summaryCostUsd === null ? "" : `, ${summaryCostUsd.toFixed(4)} USD`;
  return `${formatNumber(summaryInputTokens)} tokens sent, ${formatNumber(summaryOutputTokens)} received${cost}`;
}
