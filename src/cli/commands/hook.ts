import { resolve } from "node:path";
import { Option } from "commander";
import { didYouMean } from "../../core/suggestion.ts";
import { HOOK_AGENTS, HOOK_EVENTS } from "../../hooks/firing.ts";
import type { AgentReport } from "../../hooks/hook-report.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { HOOK_ACTIONS } from "../hook-words.ts";
import { formatTime, oneLine } from "../screen/text.ts";

export const hookCommand: Command<{ agent?: string; project?: string }> = {
  usage: "hook <event>",
  isHidden: true,
  summary: "Give an agent earlier messages about its work; or turn this on or off.",
  details:
    "Agents call it after `coppice setup`. It reads their JSON on stdin and answers in their schema. If anything goes wrong, it " +
    `prints nothing and exits with 0. Events: ${HOOK_EVENTS.join(", ")}. People use off and on, for all projects or for the ` +
    "one at --project, and status. An agent that is started with COPPICE_HOOK=0 gets nothing.",
  argument: "an event, or off, on or status",
  options: [
    new Option("--agent <agent>", `the agent that calls: ${HOOK_AGENTS.join(", ")}`),
    new Option("--project <path>", "for off and on: only in this folder"),
  ],
  examples: ["status", "off", "on --project .", "prompt --agent claude-code < input.json"],

  async run({ args: [word = ""], options: { project }, storePath }) {
    if (!HOOK_ACTIONS.includes(word)) {
      const hint = didYouMean(word, [...HOOK_ACTIONS, ...HOOK_EVENTS]) || "`coppice help hook` lists the events.";
      throw new Failure("USAGE_INVALID", `${word} is neither on, off or status nor an event with an agent.`, { hint });
    }
    const { importFix, reportsOf } = await import("../../hooks/hook-report.ts");
    const { readSwitch, turn } = await import("../../hooks/hook-switch.ts");
    const state =
      word === "status" ? readSwitch(storePath) : turn(storePath, word === "off", project && resolve(project));
    const agents = reportsOf(storePath);
    const lines = [
      state.isOff ? "Hooks are off." : "Hooks are on.",
      ...state.projectsOff.map((path) => `Off in ${oneLine(path)}`),
      ...(agents.length === 0 ? ["No hook has fired yet. `coppice doctor` says which agents are connected."] : []),
      ...agents.map(reportLine),
      ...agents.flatMap(({ agent, importFailure }) => {
        if (importFailure === undefined) return [];
        const { atMs, path, reason } = importFailure;
        const line = `${oneLine(agent)}: the last import failed at ${formatTime(atMs)}: ${oneLine(reason)}`;
        return [line, `  ${oneLine(importFix(path))}`];
      }),
    ];
    return { value: { ...state, agents }, lines };
  },
};

function reportLine({ agent, event, atMs, ms, failure }: AgentReport): string {
  const last = `${oneLine(agent)}: ${oneLine(event)} at ${formatTime(atMs)}, ${ms} ms`;
  return failure === undefined ? last : `${last}; failed at ${formatTime(failure.atMs)}: ${oneLine(failure.reason)}`;
}
