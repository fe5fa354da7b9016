import { Option } from "commander";
import type { SessionOptions } from "../../core/options.ts";
import type { Chat, ChatOptions } from "../../session/chat.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { findSession, isTaken, SESSION_MEANING } from "../find-session.ts";
import { wholeNumberOption } from "../options.ts";
import { formatCount, oneLine } from "../text.ts";

/** `chat` talks with Gemini; the conversation is a session like any other. */
export const chat: Command<{ project?: string; model?: string; tokensMax?: number }> = {
  name: "chat",
  summary: "Talk with Gemini in a session that forgets nothing.",
  details:
    "Goes on where the session stopped: what waits for an answer is answered first. The key is $GOOGLE_API_KEY or " +
    "$GEMINI_API_KEY. /help lists what can be typed besides messages; Ctrl-C ends a reply, and what has arrived of it is " +
    "kept. Where stdin is no terminal, each line is a message, and the first failure ends it. " +
    "A new session is made when something is said. " +
    "With --json: {sessionId, model, turns, pressure}, and every line is a message.",
  arguments: [
    {
      name: "[session]",
      meaning: `${SESSION_MEANING}; of an unknown name a session is made (default: a new one)`,
    },
  ],
  options: [
    new Option("--project <name>", "the project of a new session; recall then looks in this project"),
    new Option("--model <name>", "the model to talk with (default: gemini-3.1-flash-lite)"),
    wholeNumberOption("tokens-max", "most tokens of a context (default: the session's contextTokensMax)", 1),
  ],
  examples: ["", "488c5296", "plans --project web --tokens-max 32000", "plans --json < questions.txt"],

  async run({ args: [id], options: { project, model: wanted, tokensMax }, terminal, json, stores }) {
    const { estimatingTokenCounter } = await import("../../core/tokens.ts");
    const { Chat, contextLimit } = await import("../../session/chat.ts");
    const { chatModels } = await import("../../session/chat-models.ts");
    const { ChatInput } = await import("../chat/chat-input.ts");
    const { ChatRun } = await import("../chat/chat-run.ts");
    // Without a key, nothing is opened or made.
    const { model, summarizer } = chatModels(wanted);
    const options: ChatOptions = { model, tokenCounter: estimatingTokenCounter, tokensMax };
    contextLimit(options);
    const store = stores.openToWrite({ summarizer });
    const settings: SessionOptions = project === undefined ? {} : { project };
    const known = id === undefined ? undefined : knownSession(store, id);
    const chatOver = (sessionId: string | undefined): Chat => {
      return new Chat(store, store.session(sessionId, settings), options);
    };
    const isTerminal = !json && process.stdin.isTTY === true && process.stdout.isTTY === true;
    const echo = isTerminal ? process.stdout : undefined;
    const going = known === undefined ? undefined : chatOver(known.id);
    const input = new ChatInput({ input: process.stdin, echo, signals: process });
    const run = new ChatRun({ chat: going, begin: () => chatOver(id), input, terminal, stores, json });
    try {
      if (isTerminal) {
        const newest = known?.newest();
        const count = newest === undefined ? "new" : formatCount(newest.seq + 1, "message");
        const facts = [known?.id ?? id ?? "", count, model.id, "/help"].filter(Boolean).map(oneLine);
        terminal.note(terminal.styleNote("dim", facts.join(" · ")));
      }
      const { turns, failure } = await run.run();
      const sessionId = run.chat?.session.id ?? null;
      const value = { sessionId, model: model.id, turns, pressure: run.chat?.pressure() ?? null };
      if (isTerminal && sessionId !== null) {
        terminal.note(terminal.styleNote("dim", `Go on with: coppice chat ${oneLine(sessionId)}`));
      }
      return { value, lines: [], failure };
    } finally {
      input.close();
      await run.chat?.stop();
    }
  },
};

function knownSession(store: Store, id: string): Session | undefined {
  try {
    return findSession(store, id);
  } catch (error) {
    if (error instanceof Failure && error.code === "SESSION_NOT_FOUND" && !isTaken(id)) return undefined;
    throw error;
  }
}
