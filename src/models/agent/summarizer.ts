import { StoreError } from "../../core/errors.ts";
import { once } from "../../core/once.ts";
import { oneOf, wholeNumber } from "../../core/options.ts";
import type { Generation } from "../gemini/client.ts";
import { PROMPT_VERSION } from "../gemini/prompt.ts";
import type { Redact } from "../prompt-text.ts";
import type { RequestQueue } from "../request-queue.ts";
import type { Summarizer } from "../summarizer.ts";
import { AGENT_MS_MAX, AGENT_NAMES, type AgentName } from "./agents.ts";
import { addUse, untilTomorrowMs, usedToday } from "./daily-use.ts";

export const CALLS_PER_DAY_DEFAULT = 20;
export const TOKENS_PER_DAY_DEFAULT = 200_000;

export interface AgentSummarizerOptions {
  /** The agent of this machine that writes: `claude`, `codex`, `gemini`, `opencode`, `copilot` or `qwen`. */
  agent: AgentName;
  /** The most calls a day, by all processes of the person together: 1 to 100,000. Default: 20. */
  callsPerDay?: number;
  /** After so many tokens of a day, sent and received, there is no further call: 1 to 1,000,000,000. Default: 200,000. */
  tokensPerDay?: number;
  /** The time limit of one call in milliseconds: 1 to 3,600,000. Default: 300,000. */
  timeoutMs?: number;
  /** Gets each text before it leaves the machine, and returns the text to send. */
  redact?: Redact;
}

/**
 * Creates a summarizer that uses an agent of this machine, which is installed and logged in. It needs no key. It asks for what
 * `geminiSummarizer` asks for, and checks answers in the same way.
 *
 * Messages of clusters and earlier summaries go to the agent's stdin, each text after `redact`, and from there to its model. The agent
 * runs without tools and hooks, in a folder whose transcripts are never imported. One call runs at a time.
 *
 * @throws {StoreError} `OPTION_INVALID`. `summarize` rejects with the signal's reason if aborted; with `MODEL_REFUSED` if the agent is
 *   not installed or not logged in; with `MODEL_UNAVAILABLE`, with `retryAfterMs` if the agent is at its limit, or the day's calls or
 *   tokens are used; with `MODEL_ANSWER_INVALID`; or with `REDACT_FAILED`.
 */
export function agentSummarizer(options: AgentSummarizerOptions): Summarizer {
  const { callsPerDay = CALLS_PER_DAY_DEFAULT, tokensPerDay = TOKENS_PER_DAY_DEFAULT } = options;
  const { timeoutMs = AGENT_MS_MAX, redact } = options;
  const model = oneOf("agent", options.agent, AGENT_NAMES);
  wholeNumber("callsPerDay", callsPerDay, 1, 100_000);
  wholeNumber("tokensPerDay", tokensPerDay, 1, 1_000_000_000);
  wholeNumber("timeoutMs", timeoutMs, 1, 3_600_000);
  const generateIn = (queue: RequestQueue, generation: Generation): Promise<string> => {
    const { system, prompt, schema, signal, onUsage, onSend } = generation;
    return queue.send({ signal }, async () => {
      const { callCount, tokenCount } = usedToday(model);
      if (callCount >= callsPerDay || tokenCount >= tokensPerDay) {
        const reason = `its ${callsPerDay} calls or ${tokensPerDay} tokens of today are used`;
        throw new StoreError("MODEL_UNAVAILABLE", { model, reason, retryAfterMs: untilTomorrowMs() });
      }
      const { callAgent } = await import("./call-agent.ts");
      onSend?.();
      addUse(model, { callCount: 1, tokenCount: 0 });
      const reply = await callAgent(model, {
        system: `${system}\n\nYou have no tools. Answer with one JSON object of this schema, and nothing else:\n${JSON.stringify(schema)}`,
        // Agents read files that a prompt mentions with `@`.
        prompt: prompt.replaceAll("@", "&#64;"),
        signal,
        timeoutMs,
        onUsage: (usage) => {
          try {
            addUse(model, { callCount: 0, tokenCount: usage.inputTokens + usage.outputTokens });
          } catch {
            // The answer is paid for. The next call counts itself first, and is not made if that fails.
          }
          onUsage?.(usage);
        },
      });
      return jsonIn(reply.replaceAll("&#64;", "@"));
    });
  };
  // These are imported late, because most programs never call an agent.
  const summarizing = once(async () => {
    const { summarizeWith } = await import("../gemini/summarize.ts");
    const { RequestQueue } = await import("../request-queue.ts");
    const queue = new RequestQueue({ concurrency: 1, requestsPerMinute: undefined });
    return summarizeWith({ settings: { model, redact }, generate: (generation) => generateIn(queue, generation) });
  });
  return {
    id: `agent-${model}`,
    promptVersion: PROMPT_VERSION,
    citesSources: true,
    summarize: async (request) => (await summarizing())(request),
  };
}

/** Returns the object in a reply that may have words or a fence around it. */
function jsonIn(reply: string): string {
  const [from, to] = [reply.indexOf("{"), reply.lastIndexOf("}")];
  return from < 0 || to < from ? reply : reply.slice(from, to + 1);
}
