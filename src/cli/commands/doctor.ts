import { Option } from "commander";
import { StoreError, unless } from "../../core/errors.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import type { Format, Terminal } from "../screen/terminal.ts";
import { formatBytes, formatCount, formatNumber, oneLine } from "../screen/text.ts";
import type { OpenedStores } from "../stores/opened-stores.ts";

type StoreStats = ReturnType<Store["stats"]>;
type Finding = ReturnType<Store["doctor"]>[number];

const MARKS: Record<Finding["level"], { mark: string; format: Format }> = {
  ok: { mark: "✓", format: "green" },
  advice: { mark: "!", format: "yellow" },
  problem: { mark: "✗", format: "red" },
};

export const doctorCommand: Command<{ deep?: true }> = {
  usage: "doctor",
  summary: "Report what is in the store, what is wrong with it and with what agents do with it, and how to fix it.",
  details:
    "Counts and sizes come first. ✓ marks what is fine, ! what could be better, and ✗ a problem. The exit code is 1 if there is a problem. Nothing is " +
    "written. Every page of a small file is read; of a large one with --deep. A store that does not open is examined too, and agents are examined even if there is no store. `verify` looks " +
    "closer at messages and derived rows. With --json: {ok, stats, findings}; stats is null for a store that does not open.",
  options: [new Option("--deep", "read every page of a large file, too")],
  examples: ["", "--deep", "--json"],

  async run({ options: { deep = false }, loadStores, storePath, terminal }) {
    const { hookFindings } = await import("../../hooks/hook-report.ts");
    const { agentFindings, summaryFindings } = await import("../agent-findings.ts");
    const { stats, ofStore } = await examine(await loadStores(), deep);
    const ofAgents = [...(await agentFindings(storePath)), ...(await summaryFindings(storePath))];
    const findings = [...ofStore, ...ofAgents, ...hookFindings(storePath)];
    const problemCount = findings.filter(({ level }) => level === "problem").length;
    const ok = problemCount === 0;
    const hint = "Each line with → says how to fix the problem above it.";
    const failure = ok
      ? undefined
      : new Failure("DOCTOR_FAILED", `${formatCount(problemCount, "problem")} found.`, { hint });
    const facts = stats === null ? [] : statFacts(stats).map(([label, value]) => `${label.padEnd(12)}${value}`);
    const lines = [...facts, ...(facts.length > 0 ? [""] : []), ...findingLines(findings, terminal)];
    return { value: { ok, stats, findings }, lines, failure };
  },
};

async function examine(stores: OpenedStores, deep: boolean): Promise<{ stats: StoreStats | null; ofStore: Finding[] }> {
  let store: Store;
  try {
    store = stores.openToRead();
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    const { examineUnopened } = await import("../../session/doctor.ts");
    return { stats: null, ofStore: examineUnopened(error) };
  }
  const stats = unless(["STORE_CORRUPT"], () => store.stats()) ?? null; // what is damaged is a finding
  return { stats, ofStore: store.doctor({ deep }) };
}

/** Returns the counts that no finding tells. */
function statFacts(stats: StoreStats): [label: string, value: string][] {
  const artifacts = `${formatNumber(stats.artifactCount)}, ${formatBytes(stats.artifactBytes)} uncompressed`;
  return [
    ["Sessions", formatNumber(stats.sessionCount)],
    ["Messages", formatNumber(stats.messageCount)],
    ["Tokens", formatNumber(stats.tokenCount)],
    ["Clusters", formatNumber(stats.clusterCount)],
    ["Themes", formatNumber(stats.themeCount)],
    ["Summaries", summariesText(stats)],
    ["Paid", paidText(stats)],
    ["Artifacts", artifacts],
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

function* findingLines(findings: readonly Finding[], terminal: Terminal): Generator<string> {
  for (const { level, text, fix } of findings) {
    const { mark, format } = MARKS[level];
    yield `${terminal.style(format, mark)} ${oneLine(text)}`;
    if (fix !== null) yield `  → ${oneLine(fix)}`;
  }
}
