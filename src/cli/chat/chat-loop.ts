import { StoreError } from "../../core/errors.ts";
import type { Chat, ChatEvent } from "../../session/chat.ts";
import { Failure, failureFrom, failureText } from "../failure.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatNumber, oneLine } from "../screen/text.ts";
import type { OpenedStores } from "../stores/opened-stores.ts";
import type { ChatInput, Interruption } from "./chat-input.ts";
import { isSlashCommand, runSlashCommand } from "./slash-commands.ts";

const ARGS_CHARS_MAX = 100;

/** One turn, as `--json` prints it. */
export interface TurnReport {
  /** Null if the turn answers a message that was stored before. */
  said: string | null;
  reply: string;
  calls: { name: string; args: unknown; isError: boolean }[];
  /** Null if the reply is incomplete. */
  usage: { inputTokens: number; outputTokens: number; costUsd?: number } | null;
  /** The code of an error, or `aborted`. Null if the reply is complete. */
  interrupted: string | null;
}

export interface ChatLoopOptions {
  chat: Chat | undefined;
  /** Creates the chat and its session when there is something to say. */
  begin: () => Chat;
  input: ChatInput;
  terminal: Terminal;
  stores: OpenedStores;
  /** If true, nothing is printed and every line is a message. */
  json: boolean;
}

/**
 * Runs a conversation line by line to its end.
 *
 * In a terminal, a failure is shown, and the chat waits for the next line. In a pipe, the first failure ends the chat, because
 * the next lines expect an answer. There is one exception: if an earlier run left a message that no model can answer,
 * the lines are still said, because every later run would fail at that message.
 */
export class ChatLoop {
  readonly #options: ChatLoopOptions;
  readonly #turns: TurnReport[] = [];
  chat: Chat | undefined;
  #reply: AbortController | undefined;
  #isLeaving = false;

  constructor(options: ChatLoopOptions) {
    this.#options = options;
    this.chat = options.chat;
    options.input.onInterrupt = (interruption) => this.#interrupt(interruption);
    // The current reply is stored whole, because it is paid for.
    options.terminal.whenReaderGone(() => this.#leave());
  }

  /** @returns the turns, and the failure that ended the chat early. */
  async run(): Promise<{ turns: TurnReport[]; failure: Failure | undefined }> {
    const { input, terminal, json } = this.#options;
    if (this.#isWaiting && input.isTerminal) terminal.note(terminal.styleNote("dim", "Continuing where it stopped."));
    let failure = this.#isWaiting ? await this.#turn(null) : undefined;
    let continues = failure === undefined || input.isTerminal || wouldRecur(failure);
    while (continues && !this.#isLeaving) {
      const line = await input.next("> ");
      if (line === undefined || this.#isLeaving) break;
      if (failure !== undefined && !input.isTerminal && !json) terminal.note(failureText(failure, false));
      failure = await this.#line(line);
      continues = failure === undefined || input.isTerminal;
    }
    return { turns: this.#turns, failure: input.isTerminal ? undefined : failure };
  }

  get #isWaiting(): boolean {
    return this.chat?.isWaiting ?? false;
  }

  async #line(line: string): Promise<Failure | undefined> {
    const { stores, terminal, json } = this.#options;
    if (isSlashCommand(line) && !json) {
      try {
        const continues = await runSlashCommand(line, this.chat?.session.id, stores, terminal);
        if (!continues) this.#isLeaving = true;
        return undefined;
      } catch (error) {
        return this.#failed(error);
      }
    }
    if (line.trim() !== "") return this.#turn(line);
    // An empty line asks again for a missing reply.
    return this.#isWaiting ? this.#turn(null) : undefined;
  }

  async #turn(said: string | null): Promise<Failure | undefined> {
    const { begin, terminal } = this.#options;
    this.chat ??= begin();
    const chat = this.chat;
    const turn: TurnReport = { said, reply: "", calls: [], usage: null, interrupted: null };
    this.#turns.push(turn);
    const reply = new AbortController();
    this.#reply = reply;
    try {
      const events = said === null ? chat.answer(reply.signal) : chat.say(said, reply.signal);
      for await (const event of events) this.#take(event, turn, chat);
      chat.startResolving();
      return undefined;
    } catch (error) {
      if (!reply.signal.aborted) {
        turn.interrupted = failureFrom(error).code;
        return this.#failed(error);
      }
      turn.interrupted = "aborted";
      const hint = "The part that arrived is stored.";
      return this.#failed(new Failure("REPLY_INTERRUPTED", "The reply was interrupted.", { hint }));
    } finally {
      terminal.endLine();
      this.#reply = undefined;
    }
  }

  #take(event: ChatEvent, turn: TurnReport, chat: Chat): void {
    const { terminal, input, json } = this.#options;
    const show = (text: string): void => {
      if (!json) terminal.note(terminal.styleNote("dim", text));
    };
    switch (event.kind) {
      case "text":
        turn.reply += event.text;
        if (!json) terminal.write(event.text);
        break;
      case "call": {
        const { name, args } = event;
        turn.calls.push({ name, args, isError: false });
        show(`→ ${oneLine(name)} ${oneLine(JSON.stringify(args)).slice(0, ARGS_CHARS_MAX)}`);
        break;
      }
      case "result":
        turn.calls.at(-1)!.isError = event.isError;
        if (event.isError) show(`← ${oneLine(event.text)}`);
        break;
      case "done": {
        turn.usage = event.usage;
        if (!input.isTerminal) break;
        const { share, tokensMax, hiddenTokens } = chat.pressure();
        const { inputTokens, outputTokens, costUsd } = event.usage;
        const facts = [
          `${Math.round(share * 100)} % of ${formatCount(tokensMax, "token")}`,
          hiddenTokens > 0 ? `${formatNumber(hiddenTokens)} of the hot window do not fit` : "",
          `${formatNumber(inputTokens)} in, ${formatNumber(outputTokens)} out`,
          costUsd === undefined ? "" : dollars(costUsd),
        ];
        show(facts.filter(Boolean).join(" · "));
        break;
      }
    }
  }

  /** Returns the failure, and shows it in a terminal. In a pipe it ends the chat, and is reported at the end. */
  #failed(error: unknown): Failure {
    const { terminal, input } = this.#options;
    const failure = failureFrom(error);
    if (!input.isTerminal) return failure;
    terminal.note(failureText(failure, process.env.COPPICE_DEBUG === "1").replace(/^coppice: /, ""));
    if (this.#isWaiting && !this.#isLeaving) terminal.note(terminal.styleNote("dim", "An empty line tries again."));
    return failure;
  }

  /** Ctrl-C ends the reply, or the chat if there is no reply. A second Ctrl-C ends both, and so does a signal to leave. */
  #interrupt(interruption: Interruption): void {
    const { input } = this.#options;
    const hasReply = this.#reply?.signal.aborted === false;
    if (interruption === "leave" || !hasReply || !input.isTerminal) this.#leave();
    this.#reply?.abort(new DOMException("The reply was interrupted.", "AbortError"));
  }

  #leave(): void {
    this.#isLeaving = true;
    this.#options.input.close();
  }
}

/** Returns true if another try with the same message would fail too. */
function wouldRecur({ code, cause }: Failure): boolean {
  if (code === "MODEL_REFUSED") return !(StoreError.is(cause, code) && cause.details.concerns !== undefined);
  return code === "MODEL_ANSWER_INVALID" || code === "BUDGET_TOO_SMALL";
}

function dollars(amount: number): string {
  return amount < 0.0001 ? "under $0.0001" : `$${amount.toFixed(4)}`;
}
