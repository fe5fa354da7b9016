import { Option } from "commander";
import { oneOf } from "../../core/options.ts";
import type { AgentName, Ask } from "../../session/aids/ask.ts";
import type { AskSource } from "../../session/aids/ask-answer.ts";
import { askPerson } from "../agreement.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { interruptible } from "../interruption.ts";
import { wholeNumberOption } from "../options.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatNumber, formatTime, oneLine } from "../screen/text.ts";
import { wrapped } from "../screen/wrap.ts";
import { readAgentChoice, whatStays, writeAgentChoice } from "../stores/agent-choice.ts";
import {
  PROJECT_OPTION,
  type ScopeFlags,
  SESSION_OPTION,
  SINCE_OPTION,
  scopeOf,
  UNTIL_OPTION,
} from "../stores/scope.ts";

interface AskFlags extends ScopeFlags {
  with?: string;
  tokensMax?: number;
  wait?: number;
  dryRun?: true;
}

const WAIT_S_DEFAULT = 300;
const TOKENS_MIN = 500;
const TOKENS_DEFAULT = 8_000;

export const askCommand: Command<AskFlags> = {
  usage: "ask <question...>",
  summary: "Have your own agent answer a question from what the store holds.",
  details:
    "The messages that recall finds, each with its turn, go to claude, codex, gemini, opencode, copilot or qwen on this machine, and from " +
    "there to its model. It answers from them alone, and cites. Citations of messages that were not sent are struck out. If nothing is " +
    "near, nothing is sent. You choose the agent once. Excluded projects and secrets of known kinds are never sent, and the call " +
    "leaves nothing in the store. With --json: {agent, answer, sources, struckOut, note, tokens, usage}; answer is null if nothing was sent.",
  argument: "the question",
  options: [
    new Option("--with <agent>", "the agent to ask, now and from now on"),
    PROJECT_OPTION,
    SESSION_OPTION,
    SINCE_OPTION,
    UNTIL_OPTION,
    wholeNumberOption(
      "tokens-max",
      `most tokens of the messages that are sent: by default ${formatNumber(TOKENS_DEFAULT)}`,
      TOKENS_MIN,
    ),
    wholeNumberOption("wait", `most seconds to wait for the agent: by default ${WAIT_S_DEFAULT}`, 1, 86_400),
    new Option("--dry-run", "show what would be sent, and send nothing"),
  ],
  examples: [
    "why did we drop flock",
    "what is left to do on the importer --project web",
    "why flock --with codex",
    "why flock --dry-run",
  ],

  async run({ args, options, loadStores, storePath, terminal, json }) {
    const store = (await loadStores()).openToRead();
    const { AGENT_NAMES, ASK_SYSTEM, askOf, CALLED_AGENTS } = await import("../../session/aids/ask.ts");
    const { with: named, tokensMax, wait = WAIT_S_DEFAULT, dryRun } = options;
    if (named !== undefined) oneOf("--with", named, AGENT_NAMES);
    const ask = await askOf(store, args.join(" "), {
      ...(await whatStays(() => store)),
      tokensMax,
      ...scopeOf(store, options),
    });
    const { evidence, note = null, prompt, tokens } = ask;
    const isEmpty = evidence.length === 0;
    const facts = { note, tokens: isEmpty ? 0 : tokens };
    if (dryRun) {
      const value = isEmpty ? facts : { ...facts, system: ASK_SYSTEM, prompt };
      return { value, lines: isEmpty ? [note!, "Nothing would be sent."] : dryRunLines(ASK_SYSTEM, ask) };
    }
    if (isEmpty) {
      const value = { agent: null, answer: null, sources: [], struckOut: [], ...facts, usage: null };
      return { value, lines: [`${note} Nothing was sent.`] };
    }
    const agent = named ?? (await chosenAgent(readAgentChoice(storePath).ask, terminal, json));
    if (agent === undefined) return { value: null, lines: ["Nothing was sent."] };
    remember(storePath, agent);
    if (note !== null && !json) terminal.note(note);
    const { title } = CALLED_AGENTS[agent as AgentName];
    if (!json) terminal.progress(`${title} reads ${formatCount(tokens, "token")}`);
    const { answerOfAgent } = await import("../../session/aids/ask-answer.ts");
    const answer = await interruptible("Nothing was changed.", (signal) => {
      terminal.whenReaderGone(() => process.kill(process.pid, "SIGTERM"));
      return answerOfAgent(agent as AgentName, ask, {
        signal,
        timeoutMs: wait * 1_000,
        ...(!json && { onLine: (line: string) => terminal.print(wrapped(line, terminal.columns)) }),
      });
    });
    terminal.endProgress();
    const { sources, struckOut } = answer;
    return { value: { agent, ...answer, ...facts }, lines: sourceLines(sources, struckOut.length, terminal) };
  },
};

/** Returns the agent that was chosen before, or asks. @returns undefined if the person chooses none. */
async function chosenAgent(before: string | undefined, terminal: Terminal, json: boolean): Promise<string | undefined> {
  const { AGENT_NAMES, CALLED_AGENTS, installedAgents } = await import("../../session/aids/ask.ts");
  if (before !== undefined && AGENT_NAMES.some((name) => name === before)) return before;
  const installed = installedAgents();
  if (installed.length === 0) {
    const programs = AGENT_NAMES.map((name) => CALLED_AGENTS[name].program).join(", ");
    const hint = `Install one of ${programs}, and log in. \`coppice recall\` finds the messages without a model.`;
    throw new Failure("AGENT_NOT_STARTED", "No agent that could answer is on the path.", { hint });
  }
  const unasked = {
    message: "Which agent shall answer was not chosen yet.",
    hint: `Name it once: --with ${installed.join(", or --with ")}. What is found is sent to its model.`,
  };
  terminal.endProgress();
  const text = `Which agent shall answer? What is found is sent to its model. (${installed.join(", ")}) `;
  const typed = await askPerson(text, unasked, json);
  return typed === "" ? undefined : oneOf("the agent", typed, AGENT_NAMES);
}

/** Keeps the choice. Beside a store that nobody may write to, it is asked again. */
function remember(storePath: string, agent: string): void {
  if (readAgentChoice(storePath).ask === agent) return;
  try {
    writeAgentChoice(storePath, { ask: agent });
  } catch {}
}

function* sourceLines(sources: readonly AskSource[], struckOutCount: number, terminal: Terminal): Generator<string> {
  if (sources.length > 0) yield "";
  const width = Math.max(...sources.map(({ messageId }) => String(messageId).length));
  for (const { messageId, project, title, atMs } of sources) {
    const [day] = formatTime(atMs).split(" ");
    const about = [day, project, title].flatMap((fact) => (fact ? [oneLine(fact)] : [])).join(" · ");
    yield `coppice expand message:${String(messageId).padEnd(width)}  ${terminal.style("dim", about)}`;
  }
  if (sources.length === 0) terminal.note("The answer cites no message.");
  if (struckOutCount > 0) {
    const count = formatCount(struckOutCount, "citation");
    terminal.note(`${count} of messages that were not sent ${struckOutCount === 1 ? "was" : "were"} struck out.`);
  }
}

function* dryRunLines(system: string, { prompt, tokens, evidence, sessions }: Ask): Generator<string> {
  yield system;
  yield "";
  yield prompt;
  yield "";
  const counts = `${formatCount(evidence.length, "message")} of ${formatCount(sessions.size, "session")}`;
  yield `${counts}, about ${formatCount(tokens, "token")}, would be sent. Nothing was sent.`;
}
