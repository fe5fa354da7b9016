import type { Message, RenderResult } from "../../../src/index.ts";
import { contextText } from "./plain-text.ts";
import { PublishedCompactor } from "./published.ts";
import type { ArmSummaries } from "./summarize.ts";
import { filled, newest, oldest, type PlainMessage } from "./verbatim.ts";

/** The hot part of an arm is the newest messages in this share of its characters: the same text in each arm. */
const HOT_SHARE = 0.5;
/** The summary of `flat-filled` and `sandwich` takes this share of what the hot part leaves. With more, fewer lines fit. */
const FLAT_SHARE = 0.25;
/** `sandwich` shows the first messages in this share of its characters. */
const HEAD_SHARE = 0.2;
const RUN_STEPS = 8;
/** The limits of the summary of a run or cluster. The library has the same upper limit. */
const UNIT_TOKENS = { min: 20, max: 400 };
const STORY = /<story>[\s\S]*?<\/story>/;

/** A place in a conversation where contexts are compared. */
export interface Place {
  /** Everything before the place, in order. */
  messages: readonly PlainMessage[];
  budget: number;
  /** As `session.render` returns it for the budget. */
  shipped: RenderResult;
}

/**
 * Makes the contexts of the arms for one conversation, place by place. An arm gets as many characters as the shipped context
 * has. Half of them is the hot part, and the newest messages fill what the arm's own parts leave.
 *
 * - `shipped`: `session.render`. `shipped-no-story`: without its story, and filled.
 * - `newest`, `first-newest`: no summaries. `newest-full`: in the whole budget.
 * - `flat-filled`, `sandwich`: one running summary, without and with the first messages.
 * - `runs`: a summary of every eight steps. `published`: a summary of each of the published compactor's clusters.
 * - `.+story`: with the shipped story, which counts.
 * - `full`: everything.
 */
export class Arms {
  readonly #summaries: ArmSummaries;
  readonly #compactors = new Map<string, { compactor: PublishedCompactor; count: number }>();

  constructor(summaries: ArmSummaries) {
    this.#summaries = summaries;
  }

  /** Returns the text of each arm's context by the name of the arm. */
  async at({ messages, budget, shipped }: Place): Promise<Record<string, string>> {
    const text = contextText(shipped);
    const [story = ""] = STORY.exec(text) ?? [];
    const own = await this.#own(messages, text.length, `${budget}`);
    const more = await this.#own(messages, text.length - story.length - 1, `${budget} story`);
    const withStory = Object.entries(more).map(([arm, text]) => [`${arm}+story`, `${story}\n${text}`]);
    return {
      full: messages.map((message) => message.text).join("\n"),
      shipped: text,
      "shipped-no-story": filled(text.replace(STORY, ""), unshown(messages, shipped), text.length),
      "newest-full": newest(messages, 4 * budget).text,
      ...own,
      ...Object.fromEntries(withStory),
    };
  }

  /** Returns the context with the clusters that the published compactor retrieves for a question. */
  async publishedFor(query: string, { messages, budget, shipped }: Place): Promise<string> {
    const chars = contextText(shipped).length;
    const { cold, rest, fill } = hotPart(messages, chars);
    const found = this.#published(`${budget}`, cold).retrieved(query);
    return fill(await this.#summarized(membersOf(found, cold), rest));
  }

  async #own(messages: readonly PlainMessage[], chars: number, name: string): Promise<Record<string, string>> {
    const { cold, rest, fill } = hotPart(messages, chars);
    const sources = cold.map(({ message }) => message);
    const flat = await this.#summaries.running(name, sources, Math.floor((FLAT_SHARE * rest) / 4));
    const clusters = this.#published(name, cold).clusters();
    return {
      newest: newest(messages, chars).text,
      "first-newest": fill(oldest(cold, rest)),
      "flat-filled": fill(flat),
      sandwich: fill(`${oldest(cold, HEAD_SHARE * chars)}\n${flat}`),
      runs: fill(await this.#summarized(runsOf(sources), rest)),
      published: fill(await this.#summarized(membersOf(clusters, cold), rest)),
    };
  }

  #published(name: string, cold: readonly PlainMessage[]): PublishedCompactor {
    let known = this.#compactors.get(name);
    if (known === undefined || known.count > cold.length) known = { compactor: new PublishedCompactor(), count: 0 };
    for (const { text } of cold.slice(known.count)) known.compactor.graduate(text);
    this.#compactors.set(name, { ...known, count: cold.length });
    return known.compactor;
  }

  /** Returns equally long summaries of all units in at most `chars`, the newest first if not all fit. */
  async #summarized(units: readonly (readonly Message[])[], chars: number): Promise<string> {
    if (units.length === 0) return "";
    const share = Math.floor(chars / 4 / units.length / UNIT_TOKENS.min) * UNIT_TOKENS.min;
    const tokensMax = Math.min(UNIT_TOKENS.max, Math.max(UNIT_TOKENS.min, share));
    const texts: string[] = [];
    let room = chars;
    for (const unit of units.toReversed()) {
      const text = await this.#summaries.of(unit, tokensMax);
      if (text.length > room) break;
      texts.push(text);
      room -= text.length + 1;
    }
    return texts.reverse().join("\n");
  }
}

function hotPart(messages: readonly PlainMessage[], chars: number) {
  const hot = newest(messages, Math.floor(HOT_SHARE * chars));
  const cold = messages.slice(0, hot.beforeCount);
  const fill = (text: string) => filled(`${text}\n${hot.text}`, cold, chars);
  return { cold, rest: chars - hot.text.length - 2, fill };
}

function unshown(messages: readonly PlainMessage[], { sources }: RenderResult): PlainMessage[] {
  const shown = new Set(sources.flatMap((source) => (source.how === "verbatim" ? [source.seqFirst] : [])));
  return messages.filter(({ message }) => !shown.has(message.seq));
}

/** Returns the messages of every eight steps. */
export function runsOf(messages: readonly Message[]): Message[][] {
  const runs: Message[][] = [];
  const numbers = new Map<number, number>();
  for (const message of messages) {
    const number = numbers.get(message.stepId) ?? numbers.size;
    numbers.set(message.stepId, number);
    const run = Math.floor(number / RUN_STEPS);
    if (run === runs.length) runs.push([]);
    runs[run]!.push(message);
  }
  return runs;
}

function membersOf(clusters: readonly (readonly number[])[], cold: readonly PlainMessage[]): Message[][] {
  return clusters
    .toSorted((left, right) => left.at(-1)! - right.at(-1)!)
    .map((members) => members.map((index) => cold[index]!.message));
}
