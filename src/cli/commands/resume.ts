import { Option } from "commander";
import { STRATEGIES, type Strategy } from "../../core/options.ts";
import type { Session } from "../../session/session.ts";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { partsLines, speaker } from "../message-lines.ts";
import { wholeNumberOption } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, formatNumber } from "../text.ts";

type RenderResult = ReturnType<Session["render"]>;
type Pressure = ReturnType<Session["pressure"]>;

/** `resume` prints the context with which a session goes on: what its model would be given. */
export const resume: Command<{
  tokensMax?: number;
  strategy?: Strategy;
  query?: string;
  scope?: "session" | "project";
}> = {
  name: "resume",
  summary: "Print the context for a session's next model call.",
  details:
    "Changes nothing. With --json: {messages, composed, tokenCount, stablePrefixTokens, sources, omitted, recalled, continuity, pressure}.",
  arguments: [{ name: "<session>", meaning: SESSION_MEANING }],
  options: [
    wholeNumberOption("tokens-max", "most tokens of the context (default: the session's contextTokensMax)", 1),
    new Option("--strategy <strategy>", "how it is made (default: the session's)").choices(STRATEGIES),
    new Option("--query <text>", "show the messages that bear on it, word for word"),
    new Option("--scope <scope>", "where to look for them").choices(["session", "project"]).default("session"),
  ],
  examples: [
    "488c5296",
    "488c5296 --tokens-max 8000",
    "488c5296 --strategy sandwich",
    '488c5296 --query "which region did we pick?" --scope project',
    "488c5296 --json",
  ],

  run({ args: [id], options, stores, terminal }) {
    const session = findSession(stores.openToRead(), id!);
    const context = session.render(options);
    const { query: _query, scope: _scope, ...asked } = options;
    const pressure = session.pressure(asked);
    return { value: { ...context, pressure }, lines: lines(session.id, context, pressure, terminal) };
  },
};

function* lines(sessionId: string, context: RenderResult, pressure: Pressure, terminal: Terminal): Generator<string> {
  const count = (entries: readonly { messageCount: number }[]): number =>
    entries.reduce((sum, { messageCount }) => sum + messageCount, 0);
  const by = (how: string): string => formatNumber(count(context.sources.filter((source) => source.how === how)));
  const messageCount = count(context.sources) + count(context.omitted);
  const tokens = `${formatNumber(context.tokenCount)} of ${formatCount(pressure.tokensMax, "token")}`;
  yield `${terminal.style("bold", sessionId)} · ${tokens} for ${formatCount(messageCount, "message")}`;
  const kinds = [`${by("verbatim")} word for word`, `${by("shortened")} shortened`, `${by("summary")} summarized`];
  yield terminal.style("dim", [...kinds, `${formatNumber(count(context.omitted))} named by a pointer`].join(" · "));
  const facts = [
    `${formatCount(pressure.fullTokens, "token")} in full`,
    pressure.hiddenTokens > 0 ? `${formatNumber(pressure.hiddenTokens)} of the newest have no room` : "",
    pressure.compactableTokens > 0 ? `compacting would free ${formatNumber(pressure.compactableTokens)}` : "",
  ];
  yield terminal.style("dim", facts.filter(Boolean).join(" · "));
  const elsewhere = context.recalled.filter((message) => message.sessionId !== sessionId).length;
  if (elsewhere > 0) yield terminal.style("dim", `and ${formatCount(elsewhere, "message")} of other sessions`);
  yield "";
  for (const message of context.messages) {
    yield speaker(message, terminal);
    yield* partsLines(message.parts, terminal);
    yield "";
  }
}
