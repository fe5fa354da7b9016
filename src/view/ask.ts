import type { AgentName, AskOptions } from "../session/aids/ask.ts";
import type { AskAnswer } from "../session/aids/ask-answer.ts";
import type { EvidenceAnswer } from "./api.ts";
import { RefusedRequest } from "./refusal.ts";
import type { Query } from "./requests.ts";
import type { ViewStore } from "./view-store.ts";

/** An agent of this machine, and what it must not get. */
export interface AnsweringAgent extends Pick<AskOptions, "redact" | "isLeftOut"> {
  name: AgentName;
  /** Its name for people. */
  title: string;
}

/** Has an agent answer questions, one at a time. */
export class Asking {
  readonly agent: AnsweringAgent | undefined;
  readonly #view: ViewStore;
  #isBusy = false;

  constructor(view: ViewStore, agent: AnsweringAgent | undefined) {
    this.#view = view;
    this.agent = agent;
  }

  async evidence(request: Query<"/api/evidence">): Promise<EvidenceAnswer> {
    const { evidence, sessions, tokens, note = null } = await this.#prepared(request);
    const isEmpty = evidence.length === 0;
    return {
      messageCount: evidence.length,
      sessionCount: sessions.size,
      tokenCount: isEmpty ? 0 : tokens,
      note,
    };
  }

  /** @throws {RefusedRequest} if the agent answers another question, or nothing would be sent. */
  async ask(request: Query<"/api/evidence">, signal: AbortSignal): Promise<AskAnswer> {
    const { title, name } = this.#chosen();
    if (this.#isBusy) throw new RefusedRequest(429, "BUSY", `${title} answers another question. Wait until it has.`);
    this.#isBusy = true;
    try {
      const ask = await this.#prepared(request);
      if (ask.evidence.length === 0) throw new RefusedRequest(400, "NOTHING_FOUND", `${ask.note} Nothing was sent.`);
      const { answerOfAgent } = await import("../session/aids/ask-answer.ts");
      return await answerOfAgent(name, ask, { signal });
    } finally {
      this.#isBusy = false;
    }
  }

  async #prepared({ q, project }: Query<"/api/evidence">) {
    const { redact, isLeftOut } = this.#chosen();
    const { askOf } = await import("../session/aids/ask.ts");
    const options = { redact, isLeftOut, ...(project !== undefined && { project }) };
    return this.#view.read((store) => askOf(store, q, options));
  }

  #chosen(): AnsweringAgent {
    if (this.agent !== undefined) return this.agent;
    throw new RefusedRequest(403, "NO_AGENT", "No agent was chosen to answer. `coppice ask` asks which, once.");
  }
}
