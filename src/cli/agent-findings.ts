import { homedir } from "node:os";
import { dataFolder, type Machine } from "../core/data-folder.ts";
import { StoreError } from "../core/errors.ts";
import { reportsOf } from "../hooks/hook-report.ts";
import { surveyLocations } from "../imports/survey.ts";
import type { Store } from "../session/store.ts";
import { WrittenFiles } from "../setup/changes.ts";
import { type AgentReport, agentReports } from "../setup/targets.ts";
import { formatCount, formatNumber } from "./screen/text.ts";
import { readAgentChoice } from "./stores/agent-choice.ts";

/** Who keeps transcripts for so long wants to keep them. */
const LONG_DAYS = 3_650;

type Finding = ReturnType<Store["doctor"]>[number];

/** Returns what `doctor` says about summaries by an agent. */
export async function summaryFindings(storePath: string): Promise<Finding[]> {
  const { summaries } = readAgentChoice(storePath);
  if (summaries === undefined) return [];
  const { installedAgents, usedToday } = await import("../session/aids/ask.ts");
  const { agent, callsPerDay, tokensPerDay } = summaries;
  const { callCount, tokenCount } = usedToday(agent);
  const used = `${formatNumber(callCount)} of ${formatNumber(callsPerDay)} calls and ${formatNumber(tokenCount)} of ${formatNumber(tokensPerDay)} tokens`;
  if (!installedAgents().some((name) => name === agent)) {
    const text = `${agent} shall write summaries, and is not on the path.`;
    return [{ check: "summaries", level: "advice", text, fix: "Install it, or run `coppice setup --summaries off`" }];
  }
  return [
    { check: "summaries", level: "ok", text: `${agent} writes summaries, and has used ${used} today.`, fix: null },
  ];
}

/** Returns what `doctor` says about each agent that is used on this machine. */
export async function agentFindings(storePath: string): Promise<Finding[]> {
  const machine: Machine = { env: process.env, platform: process.platform, home: homedir() };
  const locations = await surveyLocations();
  const fired = new Set(reportsOf(storePath).map(({ agent }) => agent));
  let reports: AgentReport[];
  try {
    reports = agentReports(machine, new WrittenFiles(dataFolder(machine)));
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    return [{ check: "agents", level: "advice", text: error.message, fix: error.hint ?? null }];
  }
  return reports.flatMap((report): Finding[] => {
    const { name, title, followedAs, hasHooks, isConnected, isTrusted, next, kept } = report;
    const fileCount = locations.reduce((sum, one) => (one.agent === followedAs ? sum + (one.fileCount ?? 0) : sum), 0);
    const followed = fileCount === 0 ? "It has no transcripts." : `It has ${formatCount(fileCount, "transcript")}.`;
    const files = followedAs === undefined ? "" : ` ${followed}`;
    const deletion: Finding[] = [];
    if (kept !== undefined && kept.days < LONG_DAYS && fileCount > 0) {
      const text = `${title} deletes its transcripts after ${formatCount(kept.days, "day")}.`;
      const fix = `\`coppice watch --once\` imports them. To keep them, set "${kept.setting}": ${LONG_DAYS} in ${kept.path}`;
      deletion.push({ check: "transcripts", level: "advice", text, fix });
    }
    const finding = (level: Finding["level"], state: string, fix: string | null): Finding[] => {
      return [{ check: "agents", level, text: `${title} ${state}.${files}`, fix }, ...deletion];
    };
    if (!isConnected) return finding("advice", "is not connected", `coppice setup ${name}`);
    if (!isTrusted)
      return finding("advice", "is connected, but its hooks are not trusted, so it skips them", next ?? null);
    const isSilent = hasHooks && !fired.has(name);
    return finding("ok", isSilent ? "is connected, and its hooks have not fired yet" : "is connected", null);
  });
}
