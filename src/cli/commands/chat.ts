import { Option } from "commander";
import { StoreError } from "../../core/errors.ts";
import { estimatingTokenCounter } from "../../core/tokens.ts";
import { Chat } from "../../session/chat.ts";
import { chatModels } from "../../session/chat-models.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { ChatInput } from "../chat/chat-input.ts";
import { ChatRun } from "../chat/chat-run.ts";
import type { Command } from "../command.ts";
import { findSession } from "../find-session.ts";
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
    "With --json: {sessionId, model, turns, pressure}, and every line is a message.",
  arguments: [
    {
      name: "[session]",
      meaning: "its id, or the beginning of it; of an unknown name a session is made (default: a new one)",
    },
  ],
  options: [
    new Option("--project <name>", "the project of a new session; recall then looks in this project"),
    new Option("--model <name>", "the model to talk with (default: gemini-3.1-flash-lite)"),
    wholeNumberOption("tokens-max", "most tokens of a context (default: the session's contextTokensMax)", 1),
  ],
  examples: ["", "488c5296", "plans --project web --tokens-max 32000", "plans --json < questions.txt"],

  async run({ args: [id], options: { project, model: wanted, tokensMax }, terminal, json, stores }) {
    // Without a key, nothing is opened or made.
    const { model, summarizer } = chatModels(wanted);
    const store = stores.openToWrite({ summarizer });
    const session = sessionOf(store, id, project);
    const talk = new Chat(store, session, { model, tokenCounter: estimatingTokenCounter, tokensMax });
    const isTerminal = !json && process.stdin.isTTY === true && process.stdout.isTTY === true;
    const echo = isTerminal ? process.stdout : undefined;
    const input = new ChatInput({ input: process.stdin, echo, signals: process });
    try {
      if (isTerminal) {
        const newest = session.newest();
        const count = newest === undefined ? "new" : formatCount(newest.seq + 1, "message");
        terminal.note(terminal.style("dim", `${oneLine(session.id)} · ${count} · ${model.id} · /help`));
      }
      const { turns, failure } = await new ChatRun({ chat: talk, input, terminal, stores, json }).run();
      const value = { sessionId: session.id, model: model.id, turns, pressure: talk.pressure() };
      if (isTerminal) terminal.note(terminal.style("dim", `Go on with: coppice chat ${oneLine(session.id)}`));
      return { value, lines: [], failure };
    } finally {
      input.close();
      await talk.stop();
    }
  },
};

function sessionOf(store: Store, id: string | undefined, project: string | undefined): Session {
  const options = project === undefined ? {} : { project };
  if (id === undefined) return store.session(undefined, options);
  try {
    return store.session(findSession(store, id).id, options);
  } catch (error) {
    if (!StoreError.is(error, "SESSION_NOT_FOUND")) throw error;
    return store.session(id, options);
  }
}
