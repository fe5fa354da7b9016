import { geminiSummarizer, type Message, type Summarizer, type SummaryText } from "../../../src/index.ts";
import { extractiveSummarizer } from "../../../src/models/extractive-summarizer.ts";
import { fourCharacters } from "../four-characters.ts";

/** The most tokens of messages in one call, as in the library. Further calls extend the summary of the one before. */
const CALL_TOKENS_MAX = 24_000;

/** Returns the summarizer of all arms: a model if its key is in the environment, else the one that needs no model. */
export function experimentSummarizer(): Summarizer {
  const { GOOGLE_API_KEY, GEMINI_API_KEY } = process.env;
  return GOOGLE_API_KEY || GEMINI_API_KEY ? geminiSummarizer() : extractiveSummarizer();
}

/** Makes the summaries of the arms that the experiment builds itself, and keeps them. */
export class ArmSummaries {
  readonly #summarizer: Summarizer;
  readonly #kept = new Map<string, Promise<SummaryText>>();
  /** The running summaries by their names, and the number of messages that each covers. */
  readonly #running = new Map<string, { summary: SummaryText; count: number }>();

  constructor(summarizer: Summarizer) {
    this.#summarizer = summarizer;
  }

  /** Returns a summary of the messages in at most `tokensMax`. */
  async of(messages: readonly Message[], tokensMax: number): Promise<string> {
    if (messages.length === 0 || tokensMax < 1) return "";
    const key = `${tokensMax} ${messages.map(({ id }) => id).join()}`;
    if (!this.#kept.has(key)) this.#kept.set(key, this.#summarize([], messages, tokensMax));
    return (await this.#kept.get(key)!).text;
  }

  /** Returns a summary of the first messages. It extends the last one of this name, as `flat` does. */
  async running(name: string, first: readonly Message[], tokensMax: number): Promise<string> {
    const before = this.#running.get(name);
    const sources = first.slice(before?.count ?? 0);
    if (tokensMax < 1 || sources.length === 0) return before?.summary.text.slice(0, 4 * tokensMax) ?? "";
    const summary = await this.#summarize(before === undefined ? [] : [before.summary], sources, tokensMax);
    this.#running.set(name, { summary, count: first.length });
    return summary.text;
  }

  async #summarize(
    previous: readonly SummaryText[],
    messages: readonly Message[],
    tokensMax: number,
  ): Promise<SummaryText> {
    let summary: SummaryText | undefined;
    for (const sources of portionsOf(messages)) {
      summary = await this.#summarizer.summarize({
        sessionId: "experiment",
        previous: summary === undefined ? previous : [summary],
        sources,
        tokensMax,
        countTokens: fourCharacters.count,
        signal: new AbortController().signal,
      });
    }
    return summary!;
  }
}

function portionsOf(messages: readonly Message[]): Message[][] {
  const portions: Message[][] = [];
  let tokens = Number.POSITIVE_INFINITY;
  for (const message of messages) {
    tokens += fourCharacters.count(message.text);
    if (tokens > CALL_TOKENS_MAX) {
      portions.push([]);
      tokens = fourCharacters.count(message.text);
    }
    portions.at(-1)!.push(message);
  }
  return portions;
}
