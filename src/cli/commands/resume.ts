import { type Session, TOKENS_MAX_DEFAULT } from "../../session/session.ts";
import type { Command } from "../command.ts";
import { findSession } from "../find-session.ts";
import { partsLines, speaker } from "../message-lines.ts";
import { wholeNumberOption } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, formatNumber } from "../text.ts";

type RenderResult = ReturnType<Session["render"]>;

/** `resume` prints the context with which a session goes on: what its model would be given. */
export const resume: Command<{ tokensMax: number }> = {
  name: "resume",
  summary: "Print the context for a session's next model call.",
  details: "Changes nothing. With --json: {messages, tokenCount, sources, omitted}.",
  arguments: [{ name: "<session>", meaning: "its id, or the beginning of it" }],
  options: [wholeNumberOption("tokens-max", "most tokens of the context", 1).default(TOKENS_MAX_DEFAULT)],
  examples: ["488c5296", "488c5296 --tokens-max 8000", "488c5296 --json"],

  run({ args: [id], options, stores, terminal }) {
    const session = findSession(stores.openToRead(), id!);
    const context = session.render(options);
    return { value: context, lines: lines(session.id, context, options.tokensMax, terminal) };
  },
};

function* lines(sessionId: string, context: RenderResult, tokensMax: number, terminal: Terminal): Generator<string> {
  const count = (entries: readonly { messageCount: number }[]): number =>
    entries.reduce((sum, { messageCount }) => sum + messageCount, 0);
  const by = (how: string): string => formatNumber(count(context.sources.filter((source) => source.how === how)));
  const messageCount = count(context.sources) + count(context.omitted);
  const tokens = `${formatNumber(context.tokenCount)} of ${formatCount(tokensMax, "token")}`;
  yield `${terminal.style("bold", sessionId)} · ${tokens} for ${formatCount(messageCount, "message")}`;
  const kinds = [`${by("verbatim")} word for word`, `${by("shortened")} shortened`, `${by("summary")} summarized`];
  yield terminal.style("dim", [...kinds, `${formatNumber(count(context.omitted))} named by a pointer`].join(" · "));
  yield "";
  for (const message of context.messages) {
    yield speaker(message, terminal);
    yield* partsLines(message.parts, terminal);
    yield "";
  }
}
