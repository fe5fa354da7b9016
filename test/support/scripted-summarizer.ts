import type { ModelUsage, SummarizeRequest, Summarizer, SummaryText } from "../../src/models/summarizer.ts";

/** What a call of the scripted summarizer does. `good` is what the port promises; the others are what models do. */
export type Behavior =
  | "good"
  /** Rejects. */
  | "fail"
  /** Never answers; rejects once it is aborted. */
  | "hang"
  /** Never answers, and does not listen. */
  | "deaf"
  /** Answers only when `release` is called. */
  | "slow"
  /** One token more than allowed. */
  | "long"
  | "empty"
  /** As long as is allowed, however short the sources are. */
  | "inflate"
  /** An answer without the fields of one. */
  | "nonsense";

export interface ScriptedSummarizer extends Summarizer {
  /** Every request so far. */
  readonly requests: SummarizeRequest[];
  /** Let every slow call answer that is waiting. */
  release(): void;
  /** Resolves when a call is under way that will not answer by itself. */
  waiting(): Promise<void>;
}

/** A summarizer that does what it is told, call by call, and what the last entry says from then on. */
export function scriptedSummarizer(...script: Behavior[]): ScriptedSummarizer {
  const requests: SummarizeRequest[] = [];
  let releases: (() => void)[] = [];
  let arrivals: (() => void)[] = [];
  let heldCount = 0;
  const held = (): void => {
    heldCount += 1;
    for (const arrive of arrivals) arrive();
    arrivals = [];
  };
  return {
    id: "scripted",
    promptVersion: 1,
    requests,
    release() {
      for (const release of releases) release();
      releases = [];
    },
    waiting: () => (heldCount > 0 ? Promise.resolve() : new Promise((arrive) => arrivals.push(arrive))),
    async summarize(request) {
      const behavior = script[Math.min(requests.length, script.length - 1)] ?? "good";
      requests.push(request);
      const { signal, tokensMax, countTokens } = request;
      signal.throwIfAborted();
      switch (behavior) {
        case "good":
          return good(request);
        case "fail":
          throw new Error("quota exceeded");
        case "hang":
          held();
          return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        case "deaf":
          held();
          return new Promise(() => {});
        case "slow":
          held();
          await new Promise<void>((release, reject) => {
            releases.push(release);
            signal.addEventListener("abort", () => reject(signal.reason));
          });
          return good(request);
        case "long":
          return { title: "Long", text: words(tokensMax + 1, countTokens) };
        case "empty":
          return { title: "Empty", text: " \n" };
        case "inflate":
          return { title: "Inflated", text: words(tokensMax, countTokens) };
        case "nonsense":
          return { summary: "not what was asked for" } as unknown as SummaryText;
      }
    },
  };
}

/** Which messages it stands for, after what earlier summaries say; or as much of that as may be said. */
async function good({ sources, previous, tokensMax, countTokens, signal }: SummarizeRequest): Promise<SummaryText> {
  for (let index = 0; index < sources.length; index++) {
    // One message after another, so that it can be stopped on the way.
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
  }
  const line = sources.length === 0 ? [] : [`Messages ${sources[0]!.seq} to ${sources.at(-1)!.seq}.`];
  const known = previous.map(({ text }) => text);
  // No longer than what it stands for; the beginnings of long texts show that they are long.
  const beginnings = [...sources.map(({ text }) => text), ...known].map((text) => text.slice(0, 400));
  const sourceTokens = beginnings.reduce((sum, text) => sum + countTokens(text), 0);
  const room = Math.min(tokensMax, Math.max(1, sourceTokens));
  const candidates = [[...known, ...line].join("\n"), ...line, `${sources.length}`, "."];
  const text = candidates.find((candidate) => countTokens(candidate) <= room) ?? ".";
  return { title: "What was said", text };
}

function words(tokenCount: number, countTokens: (text: string) => number): string {
  let text = "word";
  while (countTokens(`${text} word`) <= tokenCount) text += " word";
  return text;
}

/** The same, each of whose calls costs so much, also those that fail. */
export function costing(summarizer: ScriptedSummarizer, usage: ModelUsage): ScriptedSummarizer {
  return {
    ...summarizer,
    async summarize(request) {
      try {
        return await summarizer.summarize(request);
      } finally {
        request.onUsage?.(usage);
      }
    },
  };
}
