import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { formatBytes, formatNumber } from "../text.ts";

type StoreStats = ReturnType<Store["stats"]>;

const LABEL_WIDTH = 16;

/** `stats` counts what is in the store. */
export const stats: Command = {
  name: "stats",
  summary: "Print counts and sizes of the store.",
  details: "With --json: an object of numbers.",
  examples: ["", "--json"],

  run({ stores }) {
    const found = stores.openToRead().stats();
    return { value: found, lines: lines(found) };
  },
};

function* lines(found: StoreStats): Generator<string> {
  const facts: [string, string][] = [
    ["Store", found.path],
    ["Size", `${formatBytes(found.fileBytes)}, and ${formatBytes(found.walBytes)} of write-ahead log`],
    ["Sessions", formatNumber(found.sessionCount)],
    ["Messages", formatNumber(found.messageCount)],
    ["Tokens", formatNumber(found.tokenCount)],
    ["Clusters", formatNumber(found.clusterCount)],
    ["Themes", formatNumber(found.themeCount)],
    ["Summaries", summariesOf(found)],
    ["Paid", paidOf(found)],
    ["Artifacts", `${formatNumber(found.artifactCount)}, ${formatBytes(found.artifactBytes)} uncompressed`],
    ["Not indexed", formatNumber(found.unindexedCount)],
    ...vectorFacts(found),
    ["Log position", formatNumber(found.logPosition)],
    ["Embedder", found.embedderId ?? "none yet"],
  ];
  for (const [label, value] of facts) yield `${label.padEnd(LABEL_WIDTH)}${value}`;
}

/** Nothing of a store in which every message has its vector. */
function vectorFacts(found: StoreStats): [string, string][] {
  const { pendingVectorCount, pendingVectorsSinceMs, failedVectorCount, withoutVectorCount } = found;
  const since =
    pendingVectorsSinceMs === null ? "" : `, the first since ${new Date(pendingVectorsSinceMs).toISOString()}`;
  const facts: [string, string][] = [];
  if (pendingVectorCount > 0) facts.push(["Vectors due", `${formatNumber(pendingVectorCount)}${since}`]);
  if (failedVectorCount > 0) facts.push(["Vectors failed", formatNumber(failedVectorCount)]);
  if (withoutVectorCount > 0) facts.push(["Without vector", formatNumber(withoutVectorCount)]);
  return facts;
}

function summariesOf({ summaryCount, standInCount }: StoreStats): string {
  const standIns = standInCount === 0 ? "" : `, ${formatNumber(standInCount)} of them in place of the model's`;
  return formatNumber(summaryCount) + standIns;
}

function paidOf({ summaryInputTokens, summaryOutputTokens, summaryCostUsd }: StoreStats): string {
  const cost = summaryCostUsd === null ? "" : `, ${summaryCostUsd.toFixed(4)} USD`;
  return `${formatNumber(summaryInputTokens)} tokens sent, ${formatNumber(summaryOutputTokens)} received${cost}`;
}
