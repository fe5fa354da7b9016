import { Option } from "commander";
import { STRATEGIES } from "../../core/options.ts";
import type { Session } from "../../session/session.ts";
import { START, type StartedAgent } from "../agent-command.ts";
import type { Command } from "../command.ts";
import { wholeNumberOption } from "../options.ts";
import { headline } from "../screen/headline.ts";
import { partsLines, speaker } from "../screen/message-lines.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatNumber, oneLine } from "../screen/text.ts";
import { findSession, SESSION_MEANING } from "../stores/find-session.ts";

type RenderResult = ReturnType<Session["render"]>;
type Pressure = ReturnType<Session["pressure"]>;
type ResumeFlags = NonNullable<Parameters<Session["render"]>[0]> & { to?: StartedAgent };

export const resumeCommand: Command<ResumeFlags> = {
  usage: "resume <session>",
  summary: "Print the context for a session's next model call.",
  details:
    "Changes nothing. With --to, an agent begins a session of its own with the context, in the folder of the project: 8,000 tokens " +
    "unless --tokens-max says otherwise. The agent gets it as an argument, which other users of the machine can read while it runs; " +
    "secrets of known kinds are replaced. With --json: {messages, composed, tokenCount, stablePrefixTokens, sources, omitted, " +
    "recalled, story, pressure}; with --to also {command, cwd}, and nothing is started.",
  argument: SESSION_MEANING,
  options: [
    wholeNumberOption("tokens-max", "most tokens of the context (default: the session's contextTokensMax)", 1),
    new Option("--strategy <strategy>", "how to make the context (default: the session's)").choices(STRATEGIES),
    new Option("--query <text>", "show the messages that answer it, word for word"),
    new Option("--scope <scope>", "where to look for these messages")
      .choices(["session", "project"])
      .default("session"),
    new Option("--to <agent>", "begin a session of this agent with the context").choices(Object.keys(START)),
  ],
  paged: true,
  examples: [
    "488c5296",
    "488c5296 --tokens-max 8000",
    "488c5296 --strategy sandwich",
    '488c5296 --query "which region did we pick?" --scope project',
    "488c5296 --to codex",
    "488c5296 --json",
  ],

  async run({ args: [typed], options: { to, ...options }, loadStores, terminal, json }) {
    const stores = await loadStores();
    const session = findSession(stores.openToRead(), typed!);
    if (to !== undefined) {
      const { HAND_OVER_TOKENS, handOver, startAgent } = await import("../hand-over.ts");
      const { query, scope, ...contextOptions } = { tokensMax: HAND_OVER_TOKENS, ...options };
      const context = session.render({
        ...contextOptions,
        ...(query !== undefined && { query }),
        ...(scope && { scope }),
      });
      const start = handOver(to, session, context);
      if (json) return { value: { ...context, pressure: session.pressure(contextOptions), ...start }, lines: [] };
      stores.close();
      await startAgent(start);
      return { lines: [] };
    }
    const context = session.render(options);
    const { query: _query, scope: _scope, ...contextOptions } = options;
    const pressure = session.pressure(contextOptions);
    const name = session.info().name ?? undefined;
    return { value: { ...context, pressure }, lines: contextLines(session.id, name, context, pressure, terminal) };
  },
};

function* contextLines(
  sessionId: string,
  name: string | undefined,
  context: RenderResult,
  pressure: Pressure,
  terminal: Terminal,
): Generator<string> {
  const dim = (text: string): string => terminal.style("dim", text);
  const count = (entries: readonly { messageCount: number }[]): number =>
    entries.reduce((sum, { messageCount }) => sum + messageCount, 0);
  const by = (how: string): number => count(context.sources.filter((source) => source.how === how));
  const messageCount = count(context.sources) + count(context.omitted);
  const tokens = `${formatNumber(context.tokenCount)} of ${formatCount(pressure.tokensMax, "token")}`;
  yield headline(name ?? sessionId, terminal);
  yield `session ${oneLine(sessionId)} · ${tokens} for ${formatCount(messageCount, "message")}`;
  const kinds = [
    `${formatNumber(by("verbatim"))} word for word`,
    `${formatNumber(by("shortened"))} shortened`,
    by("summary") > 0 ? `${formatNumber(by("summary"))} summarized` : "",
    `${formatNumber(count(context.omitted))} named by a pointer`,
  ];
  yield dim(kinds.filter(Boolean).join(" · "));
  const facts = [
    `${formatCount(pressure.fullTokens, "token")} in full`,
    pressure.hiddenTokens > 0 ? `${formatNumber(pressure.hiddenTokens)} of the hot window do not fit` : "",
    pressure.compactableTokens > 0 ? `compacting would free ${formatNumber(pressure.compactableTokens)}` : "",
  ];
  yield dim(facts.filter(Boolean).join(" · "));
  const elsewhereCount = context.recalled.filter((message) => message.sessionId !== sessionId).length;
  if (elsewhereCount > 0) yield dim(`and ${formatCount(elsewhereCount, "message")} of other sessions`);
  yield "";
  for (const message of context.messages) {
    yield speaker(message, terminal);
    yield* partsLines(message.parts, terminal);
    yield "";
  }
}
