import type { AgentName } from "../../models/agent/agents.ts";
import { callAgent } from "../../models/agent/call-agent.ts";
import type { ModelUsage } from "../../models/summarizer.ts";
import { ASK_SYSTEM, type Ask, CitationCheck } from "./ask.ts";

/** A message that an answer cites. */
export interface AskSource {
  messageId: number;
  sessionId: string;
  seq: number;
  project: string | null;
  title: string | null;
  atMs: number;
}

export interface AskAnswer {
  /** Its lines, with only true citations. */
  answer: string;
  /** In the order in which they are cited first. */
  sources: AskSource[];
  /** The ids of messages that were cited and not sent. */
  struckOut: number[];
  /** Null if the agent does not tell it. */
  usage: ModelUsage | null;
}

interface AnswerOptions {
  signal: AbortSignal;
  timeoutMs?: number | undefined;
  /** Called with each line when it is whole. */
  onLine?: ((line: string) => void) | undefined;
}

/**
 * Has an agent answer what was prepared, and checks what it cites.
 *
 * @throws {StoreError} the errors of `callAgent`.
 */
export async function answerOfAgent(agent: AgentName, ask: Ask, options: AnswerOptions): Promise<AskAnswer> {
  const { signal, timeoutMs, onLine = () => {} } = options;
  const check = new CitationCheck(ask.evidence);
  const lines = new AnswerLines(check, onLine);
  let usage: ModelUsage | null = null;
  await callAgent(agent, {
    system: ASK_SYSTEM,
    prompt: ask.prompt,
    signal,
    timeoutMs,
    onText: (text) => lines.add(text),
    onUsage: (counted) => {
      usage = counted;
    },
  });
  lines.end();
  const sources = [...check.cited].map((id) => sourceOf(id, ask));
  return { answer: lines.text, sources, struckOut: [...check.struckOut], usage };
}

function sourceOf(messageId: number, { evidence, sessions }: Ask): AskSource {
  const { sessionId, seq, atMs } = evidence.find((one) => one.messageId === messageId)!;
  const { project, name } = sessions.get(sessionId)!;
  return { messageId, sessionId, seq, project, title: name, atMs };
}

/** Checks an answer while it comes, each line when it is whole. */
class AnswerLines {
  text = "";
  readonly #check: CitationCheck;
  readonly #onLine: (line: string) => void;
  #begun = "";

  constructor(check: CitationCheck, onLine: (line: string) => void) {
    this.#check = check;
    this.#onLine = onLine;
  }

  add(text: string): void {
    const lines = (this.#begun + text).split("\n");
    this.#begun = lines.pop()!;
    for (const line of lines) this.#take(line);
  }

  end(): void {
    if (this.#begun !== "") this.#take(this.#begun);
    this.#begun = "";
    this.text = this.text.trimEnd();
  }

  #take(written: string): void {
    const line = this.#check.line(written);
    if (line.trim() === "" && this.text === "") return;
    this.text += `${line}\n`;
    this.#onLine(line);
  }
}
