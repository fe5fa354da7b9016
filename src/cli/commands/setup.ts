import { homedir } from "node:os";
import { resolve } from "node:path";
import { Option } from "commander";
import { dataFolder, type Machine } from "../../core/data-folder.ts";
import { oneOf } from "../../core/options.ts";
import type { AgentName } from "../../session/aids/ask.ts";
import type { Change, WrittenFiles } from "../../setup/changes.ts";
import type { OwnCommand } from "../../setup/own-command.ts";
import type { Target } from "../../setup/target.ts";
import { askToAgree } from "../agreement.ts";
import type { Call, Command, Output } from "../command.ts";
import { Failure } from "../failure.ts";
import { wholeNumberOption } from "../options.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, oneLine } from "../screen/text.ts";
import { writeAgentChoice } from "../stores/agent-choice.ts";
import { defaultStorePath } from "../stores/store-path.ts";

interface SetupFlags {
  undo?: true;
  yes?: true;
  dryRun?: true;
  summaries?: string;
  callsPerDay?: number;
  tokensPerDay?: number;
}

interface Plan {
  target: Target;
  changes: Change[];
}

export const setupCommand: Command<SetupFlags> = {
  usage: "setup [agents...]",
  aliases: ["init"],
  summary: "Connect agents with the store, so that they remember by themselves.",
  details:
    "Agents are claude-code, codex, gemini-cli, opencode, pi and vscode; without names, those that are used on this machine. " +
    "`watch` is the service that follows their transcripts. Setup shows which files it would write, and writes nothing before you " +
    "agree. Nothing else in a file changes. A second run changes nothing, and --undo restores the files, byte for byte. Agents " +
    "then use the store that --db or $COPPICE_DB names now. With --json: {changes: [{agent, path, change}], next}.",
  argument: "agents to connect, or `watch`",
  options: [
    new Option("--undo", "take out what setup has written"),
    new Option("--yes", "write without asking"),
    new Option("--dry-run", "show every line that would be written, and write nothing"),
    new Option(
      "--summaries <agent>",
      "have claude, codex, gemini, opencode, copilot or qwen write summaries while watch runs, or `off`",
    ),
    wholeNumberOption("calls-per-day", "with --summaries: most calls a day, by default 20", 1, 100_000),
    wholeNumberOption("tokens-per-day", "with --summaries: most tokens a day, by default 200,000", 1, 1_000_000_000),
  ],
  examples: ["", "claude-code codex --yes", "watch", "--dry-run", "--undo", "--summaries claude --calls-per-day 10"],

  async run({ args, options, storePath, terminal, json }) {
    const { undo = false, yes = false, dryRun = false, summaries } = options;
    if (summaries !== undefined) return setUpSummaries(summaries, options, { storePath, terminal, json });
    const { AGENTS } = await import("../../setup/targets.ts");
    const { watchService } = await import("../../setup/watch-service.ts");
    const { WrittenFiles } = await import("../../setup/changes.ts");
    const { ownProgram } = await import("../../setup/own-command.ts");
    const machine: Machine = { env: process.env, platform: process.platform, home: homedir() };
    const service = watchService(machine.platform);
    const targets = service === undefined ? AGENTS : [...AGENTS, service];
    const files = new WrittenFiles(dataFolder(machine));
    const chosen = chosenTargets(targets, args, undo ? files.targets : usedNames(AGENTS, machine));
    const isDefault = resolve(storePath) === defaultStorePath({ ...machine, env: { ...machine.env, COPPICE_DB: "" } });
    const command: OwnCommand = {
      program: ownProgram(process.argv[1] ?? "", process.env.PATH ?? ""),
      store: isDefault ? [] : ["--db", resolve(storePath)],
    };
    const plans = chosen.map((target): Plan => {
      const edits = undo ? [] : target.edits(machine, command);
      return { target, changes: files.changesFor(target.name, edits) };
    });
    const changes = plans.flatMap((plan) => plan.changes.filter(isVisible));
    const value = {
      changes: changes.map((change) => ({ agent: change.target, path: change.path, change: kindOf(change) })),
      next: undo ? [] : plans.flatMap(({ target }) => target.next ?? []),
    };
    if (changes.length === 0) {
      // An earlier setup may have written these files without noting that it did. This notes it.
      if (!dryRun) for (const plan of plans) files.apply(plan.changes);
      return { value, lines: [nothingToDo(plans, undo)] };
    }
    if (!json) for (const line of planLines(plans, dryRun, terminal)) terminal.note(line);
    if (dryRun) return { value, lines: [`${formatCount(changes.length, "file")} would change.`] };
    const question = {
      text: `${undo ? "Take this out" : "Write this"} (--dry-run shows every line)?`,
      refused: "Nothing was written.",
      unasked: {
        message: "Writing to the files of agents needs your agreement.",
        hint: "Add --yes to agree, or --dry-run to see every line.",
      },
    };
    if (!yes && !(await askToAgree(question, terminal, json))) return { value: { changes: [], next: [] }, lines: [] };
    const notes = plans.flatMap((plan) => applied(plan, files, undo));
    const offers =
      undo || service === undefined || chosen.includes(service) || files.targets.includes(service.name)
        ? []
        : ["`coppice setup watch` makes a service that follows their transcripts all the time."];
    const slow =
      undo || command.program[0] !== "npx"
        ? []
        : ["Hooks that start by npx are slow. `npm install -g coppice`, and then `coppice setup`, makes them fast."];
    const lines = [`${formatCount(changes.length, "file")} changed.`, ...notes, ...value.next, ...slow, ...offers];
    return { value: { ...value, next: [...notes, ...value.next] }, lines };
  },
};

/** Chooses the agent that writes summaries, or none. */
async function setUpSummaries(
  named: string,
  { yes, callsPerDay, tokensPerDay }: SetupFlags,
  { storePath, terminal, json }: Pick<Call<SetupFlags>, "storePath" | "terminal" | "json">,
): Promise<Output> {
  const { AGENT_NAMES, CALLED_AGENTS, CALLS_PER_DAY_DEFAULT, installedAgents, TOKENS_PER_DAY_DEFAULT } = await import(
    "../../session/aids/ask.ts"
  );
  const agent = oneOf("--summaries", named, [...AGENT_NAMES, "off"]);
  if (agent === "off") {
    writeAgentChoice(storePath, { summaries: undefined });
    return { value: { summaries: null }, lines: ["No agent writes summaries."] };
  }
  const { title, program } = CALLED_AGENTS[agent as AgentName];
  if (!installedAgents().some((name) => name === agent)) {
    const hint = `Install ${title}, log in, and run this again.`;
    throw new Failure("AGENT_NOT_STARTED", `Its program ${program} is not on the path.`, { hint });
  }
  const calls = callsPerDay ?? CALLS_PER_DAY_DEFAULT;
  const tokens = tokensPerDay ?? TOKENS_PER_DAY_DEFAULT;
  const limits = `at most ${formatCount(calls, "call")}, and until ${formatCount(tokens, "token")} are used, a day`;
  const what = `While \`coppice watch\` runs, ${title} will write summaries of sessions that end or grow: an overview of work with tools, and statements of talk. What they tell is sent to its model, without secrets of known kinds: ${limits}.`;
  const question = {
    text: `${what}\nDo you agree?`,
    refused: "Nothing was changed.",
    unasked: { message: "Sending messages to a model needs your agreement.", hint: `${what} Add --yes to agree.` },
  };
  if (!yes && !(await askToAgree(question, terminal, json))) return { value: { summaries: null }, lines: [] };
  const summaries = { agent, callsPerDay: calls, tokensPerDay: tokens };
  writeAgentChoice(storePath, { summaries });
  const next =
    "Start `coppice watch` again. `coppice setup --summaries off` turns it off, and `coppice doctor` says what was used.";
  return { value: { summaries }, lines: [what, next] };
}

function chosenTargets(targets: readonly Target[], names: readonly string[], otherwise: readonly string[]): Target[] {
  const known = targets.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Failure("USAGE_INVALID", `There is no agent "${unknown}".`, { hint: `There are ${known.join(", ")}.` });
  }
  const wanted = names.length > 0 ? names : otherwise;
  return targets.filter(({ name }) => wanted.includes(name));
}

function usedNames(agents: readonly Target[], machine: Machine): string[] {
  return agents.filter((agent) => agent.isUsed(machine)).map(({ name }) => name);
}

function nothingToDo(plans: readonly Plan[], undo: boolean): string {
  if (undo) return "Setup has written nothing that could be taken out.";
  if (plans.length === 0) return "No agent was found. `coppice setup claude-code` connects one that was never started.";
  return `Nothing to do: ${plans.map(({ target }) => target.title).join(", ")} ${plans.length === 1 ? "is" : "are"} connected.`;
}

/** Applies the changes, and starts or stops the service. Returns a note if it does not start; the files stay changed. */
function applied({ target, changes }: Plan, files: WrittenFiles, undo: boolean): string[] {
  const paths = changes.filter(isVisible).map(({ path }) => path);
  const { start = [], stop = [] } = paths.length === 0 ? {} : (target.service?.(paths) ?? {});
  if (undo) stop.forEach(succeeds);
  files.apply(changes);
  if (undo || start.every(succeeds)) return [];
  return [`The service could not be started. Run: ${start.map((words) => words.join(" ")).join(" && ")}`];
}

function succeeds([program, ...words]: readonly string[]): boolean {
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  return spawnSync(program!, words, { stdio: "ignore" }).status === 0;
}

function isVisible({ before, after }: Change): boolean {
  return before !== after;
}

function kindOf({ before, after }: Change): "create" | "change" | "delete" {
  if (before === undefined) return "create";
  return after === undefined ? "delete" : "change";
}

/** @param inFull  True to show every line of every file. */
function* planLines(plans: readonly Plan[], inFull: boolean, terminal: Terminal): Generator<string> {
  for (const { target, changes } of plans) {
    const visible = changes.filter(isVisible);
    if (visible.length > 0) yield terminal.styleNote("bold", target.title);
    for (const change of visible) {
      const lines = changedLines(change);
      const added = lines.filter((line) => line.startsWith("+")).length;
      const [count, sign] = added === 0 ? [lines.length, "-"] : [added, "+"];
      yield `  ${kindOf(change)} ${oneLine(change.path)} (${sign}${formatCount(count, "line")})`;
      for (const line of inFull ? lines : []) {
        yield `    ${terminal.styleNote(line.startsWith("+") ? "green" : "red", oneLine(line))}`;
      }
    }
  }
}

/** Returns the removed and the added lines. Setup changes a file in one place only. */
function changedLines({ before = "", after = "" }: Change): string[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const changed = (lines: readonly string[], sign: string): string[] =>
    lines.slice(start, lines.length - end).map((line) => `${sign} ${line}`);
  return [...changed(old, "-"), ...changed(now, "+")];
}
