import { Option } from "commander";
import { STRATEGIES } from "../../core/options.ts";
import { beganAtMs } from "../../session/aids/every-message.ts";
import { projectNamer } from "../../session/aids/project-meant.ts";
import type { SessionStory } from "../../session/aids/session-story.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { agentCommand, START, type StartedAgent } from "../agent-command.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { wholeNumberOption } from "../options.ts";
import { displayWidth } from "../screen/display-width.ts";
import { messageHandle, partsLines, saidLines, speaker } from "../screen/message-lines.ts";
import { idsShown } from "../screen/short-ids.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatNumber, oneLine } from "../screen/text.ts";
import { factsLine, headline, outcomeLines, rememberedLines, timesFor, toldRows } from "../screen/topic-lines.ts";
import { findSession, LAST, lastHere, SESSION_MEANING } from "../stores/find-session.ts";

type RenderResult = ReturnType<Session["render"]>;
type Pressure = ReturnType<Session["pressure"]>;
type ResumeFlags = NonNullable<Parameters<Session["render"]>[0]> & { to?: StartedAgent; raw?: true };

/** The most rows for what is told, and for each message of the newest turn. The whole page then fits on two screens. */
const TOLD_ROWS = 24;
const MESSAGE_ROWS = 14;
/** So many of the newest statements are read, because most may have been replaced. */
const REMEMBERED_MAX = 500;

export const resumeCommand: Command<ResumeFlags> = {
  usage: "resume [session]",
  summary: "Show where a session stands, or print the context for its next model call.",
  details:
    "At a terminal: what was asked, done, decided and left open, in sentences of the session, and its newest turn. With --raw, an option about the " +
    "context, or in a pipe: the context. Changes nothing. With --to, an agent begins a session of its own with the context, in the folder of the project: 8,000 tokens " +
    "unless --tokens-max says otherwise. The agent gets it as an argument, which other users of the machine can read while it runs; " +
    "secrets of known kinds are replaced. With --json: {messages, composed, tokenCount, stablePrefixTokens, sources, omitted, " +
    "recalled, story, pressure}; with --to also {command, cwd}, and nothing is started.",
  argument: `${SESSION_MEANING}; by default the last of the project in this folder`,
  options: [
    wholeNumberOption("tokens-max", "most tokens of the context (default: the session's contextTokensMax)", 1),
    new Option("--strategy <strategy>", "how to make the context (default: the session's)").choices(STRATEGIES),
    new Option("--query <text>", "show the messages that answer it, word for word"),
    new Option("--scope <scope>", "where to look for these messages")
      .choices(["session", "project"])
      .default("session"),
    new Option("--raw", "the context, also at a terminal"),
    new Option("--to <agent>", "begin a session of this agent with the context").choices(Object.keys(START)),
  ],
  paged: true,
  examples: [
    "",
    "488c5296",
    "488c5296 --raw",
    "488c5296 --tokens-max 8000",
    "488c5296 --strategy sandwich",
    '488c5296 --query "which region did we pick?" --scope project',
    "488c5296 --to codex",
    "488c5296 --json",
  ],

  async run({ args: [typed], options: { to, raw, ...options }, loadStores, terminal, json }) {
    const stores = await loadStores();
    const store = stores.openToRead();
    const here = typed ?? lastHere(store);
    if (here === undefined && to !== undefined) {
      const hint = "Name one: `coppice sessions` lists them, and @last is the last of all.";
      throw new Failure("SESSION_NOT_FOUND", "No session is of the project in this folder.", { hint });
    }
    if (here === undefined) terminal.note("No session is of the project in this folder. This is the last of all.");
    const session = findSession(store, here ?? LAST);
    const { renderRemembering } = await import("../../session/aids/remembered-context.ts");
    if (to !== undefined) {
      const { HAND_OVER_TOKENS, handOver, startAgent } = await import("../hand-over.ts");
      const { query, scope, ...contextOptions } = { tokensMax: HAND_OVER_TOKENS, ...options };
      const context = renderRemembering(store, session, {
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
    const isOfContext = raw ?? [options.tokensMax, options.strategy, options.query].some((one) => one !== undefined);
    if (terminal.isScreen && !json && !isOfContext) {
      const { storyOf } = await import("../../session/aids/session-story.ts");
      const { internalsOf } = await import("../../session/opened-store.ts");
      const room = { columns: TOLD_ROWS * terminal.width!, of: displayWidth };
      const story = storyOf(internalsOf(store).quickReader, session, room);
      return { lines: storyLines(story, store, session, terminal) };
    }
    const context = renderRemembering(store, session, options);
    const { query: _query, scope: _scope, ...contextOptions } = options;
    const pressure = session.pressure(contextOptions);
    const name = session.info().name ?? undefined;
    return { value: { ...context, pressure }, lines: contextLines(session.id, name, context, pressure, terminal) };
  },
};

/** Yields what a person reads before going on. */
function* storyLines(
  { told, decided, open, files, newest }: SessionStory,
  store: Store,
  session: Session,
  terminal: Terminal,
): Generator<string> {
  const overview = session.info();
  const { name, project, messageCount, updatedAtMs } = overview;
  const projectName = projectNamer(store)(project);
  const times = timesFor(terminal, { firstAtMs: beganAtMs(session), lastAtMs: updatedAtMs });
  yield headline(name ?? session.id, terminal);
  const id = idsShown(store, terminal)(session.id);
  yield factsLine([times, oneLine(projectName), formatCount(messageCount, "message"), `session ${oneLine(id)}`]);
  yield "";
  const held = project === null ? [] : store.remembered({ project, limit: REMEMBERED_MAX });
  yield* rememberedLines(held, terminal);
  yield* toldRows(told, terminal);
  const said = told.map(({ text }) => text).join("\n");
  yield* outcomeLines({ decided: decided.filter(({ text }) => !said.includes(text)), open, files }, terminal);
  for (const message of newest) {
    yield "";
    const rows = [...saidLines(message, terminal)].join("\n").trimEnd().split("\n");
    yield* rows.slice(0, MESSAGE_ROWS);
    if (rows.length > MESSAGE_ROWS) {
      yield terminal.style(
        "dim",
        `… ${formatCount(rows.length - MESSAGE_ROWS, "line")} more of it: coppice expand ${messageHandle(message.id)}`,
      );
    }
  }
  yield "";
  const again = agentCommand(overview);
  const goOn = again === undefined ? "" : `${again}, to go on with it, or `;
  terminal.hint(`Next: ${goOn}coppice resume ${oneLine(id)} --raw, for what a model would get`);
}

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
