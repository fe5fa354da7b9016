import { Option } from "commander";
import type { SessionOptions } from "../../core/options.ts";
import { projectNamed } from "../../core/project.ts";
import type { Chat, ChatOptions } from "../../session/chat.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { wholeNumberOption } from "../options.ts";
import { formatCount, oneLine } from "../screen/text.ts";
import { findSession, isReserved, SESSION_MEANING } from "../stores/find-session.ts";

interface ChatFlags {
  project?: string;
  model?: string;
  tokensMax?: number;
}

export const chatCommand: Command<ChatFlags> = {
  usage: "chat [session]",
  summary: "Talk to Gemini in a session that forgets nothing.",
  details:
    "Continues where the session stopped: a message that waits for an answer is answered first. The key is $GOOGLE_API_KEY " +
    "or $GEMINI_API_KEY. /help lists what else can be typed. Ctrl-C stops a reply and keeps the part that has arrived. If stdin " +
    "is not a terminal, each line is a message, and the first failure ends the chat. A new session is created with its " +
    "first message. With --json: {sessionId, model, turns, pressure}, and every line is a message.",
  argument: `${SESSION_MEANING}; an unknown name creates a session (default: a new one)`,
  options: [
    new Option("--project <name>", "the project of a new session; recall then searches this project"),
    new Option("--model <name>", "the model to talk to (default: gemini-3.1-flash-lite)"),
    wholeNumberOption("tokens-max", "most tokens of a context (default: the session's contextTokensMax)", 1),
  ],
  examples: ["", "488c5296", "plans --project web --tokens-max 32000", "plans --json < questions.txt"],

  async run({ args: [typed], options: { project, model: modelName, tokensMax }, terminal, json, loadStores }) {
    const { estimatingTokenCounter } = await import("../../core/tokens.ts");
    const { Chat, chatModels, contextLimit } = await import("../../session/chat.ts");
    const { ChatInput } = await import("../chat/chat-input.ts");
    const { ChatLoop } = await import("../chat/chat-loop.ts");
    // If a key is missing, this fails before anything is opened or created.
    const { model, summarizer } = chatModels(modelName);
    const options: ChatOptions = { model, tokenCounter: estimatingTokenCounter, tokensMax };
    contextLimit(options);
    const stores = await loadStores();
    const store = stores.openToWrite({ summarizer });
    const settings: SessionOptions = project === undefined ? {} : { project: projectNamed(project) };
    const known = typed === undefined ? undefined : findKnownSession(store, typed);
    const chatIn = (id: string | undefined): Chat => new Chat(store, store.session(id, settings), options);
    const isTerminal = !json && process.stdin.isTTY === true && process.stdout.isTTY === true;
    const chat = known === undefined ? undefined : chatIn(known.id);
    const input = new ChatInput(process.stdin, isTerminal ? process.stdout : undefined, process);
    const loop = new ChatLoop({ chat, begin: () => chatIn(typed), input, terminal, stores, json });
    try {
      if (isTerminal) {
        const newest = known?.newest();
        const count = newest === undefined ? "new" : formatCount(newest.seq + 1, "message");
        const facts = [known?.id ?? typed ?? "", count, model.id, "/help"].filter(Boolean).map(oneLine);
        terminal.note(terminal.styleNote("dim", facts.join(" · ")));
      }
      const { turns, failure } = await loop.run();
      const sessionId = loop.chat?.session.id ?? null;
      const value = { sessionId, model: model.id, turns, pressure: loop.chat?.pressure() ?? null };
      if (isTerminal && sessionId !== null) {
        terminal.note(terminal.styleNote("dim", `Continue with: coppice chat ${oneLine(sessionId)}`));
      }
      return { value, lines: [], failure };
    } finally {
      input.close();
      await loop.chat?.stop();
    }
  },
};

function findKnownSession(store: Store, typed: string): Session | undefined {
  try {
    return findSession(store, typed);
  } catch (error) {
    if (error instanceof Failure && error.code === "SESSION_NOT_FOUND" && !isReserved(typed)) return undefined;
    throw error;
  }
}
