import { heldTime } from "../../core/times.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { formatBytes, formatNumber, oneLine } from "../text.ts";

type StoreStats = ReturnType<Store["stats"]>;

export const statsCommand: Command = {
  usage: "stats",
  summary: "Print counts and sizes of the store.",
  details: "With --json: an object of numbers.",
  examples: ["", "--json"],

  async run({ loadStores }) {
    const stats = (await loadStores()).openToRead().stats();
    const lines = statFacts(stats).map(([label, value]) => `${label.padEnd(16)}${value}`);
    return { value: stats, lines };
  },
};

function statFacts(stats: StoreStats): [label: string, value: string][] {
  const { pendingVectorsSinceMs: sinceMs } = stats;
  const since = sinceMs === null ? "" : `, the first since ${new Date(heldTime(sinceMs)).toISOString()}`;
  return [
    ["Store", oneLine(stats.path)],
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
    ["Vectors due", `${formatNumber(stats.pendingVectorCount)}${since}`],
    ["Vectors failed", formatNumber(stats.failedVectorCount)],
    ["Without vector", formatNumber(stats.withoutVectorCount)],
    ["Log position", formatNumber(stats.logPosition)],
    ["Embedder", stats.embedderId ?? "none yet"],
  ];
}

function summariesText({ summaryCount, standInCount }: StoreStats): string {
  const standIns = standInCount === 0 ? "" : `, ${formatNumber(standInCount)} of them made without the model`;
  return formatNumber(summaryCount) + standIns;
}

function paidText({ summaryInputTokens, summaryOutputTokens, summaryCostUsd }: StoreStats): string {
  const cost = summaryCostUsd === null ? "" : `, ${summaryCostUsd.toFixed(4)} USD`;
  return `${formatNumber(summaryInputTokens)} tokens sent, ${formatNumber(summaryOutputTokens)} received${cost}`;
}
