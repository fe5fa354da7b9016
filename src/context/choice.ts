import type { TokenCounter } from "../core/tokens.ts";
import { lineTokens } from "./evidence.ts";
import { isReachedBy, linesOf, passageFrame, passageKey, type Shown, showShortened, showWhole } from "./passages.ts";
import type { RecalledStep } from "./recalled.ts";

/** Tokens of a step above which it may be shown shortened. What is shorter is hardly worth cutting. */
const WHOLE_TOKENS = 120;

/** Tokens of a step above which the stretch that was found is worth more for its tokens, however long that is. */
const SHORTENED_TOKENS = 1_000;

/** What the stretch that was found is worth beside the whole step. */
const SHORTENED_SHARE = 0.4;

/**
 * How much of its length counts against a step. Scores prefer short statements already: with 1, length would count twice.
 */
const COST_EXPONENT = 0.5;

/** A step and what it costs, in one of the ways to show it. */
interface Offer {
  shown: Shown;
  /** Of its lines. */
  tokenCount: number;
  worth: number;
}

/** A step that may be chosen: the way in which a token of it is worth most. */
interface Candidate {
  step: RecalledStep;
  offer: Offer;
  /** All of it, where the offer is not. */
  whole: (() => Offer) | undefined;
  /** What its passage's tags cost, or once the passage is there, its id. */
  tagTokens: number;
}

/** What is chosen so far of the steps that were found, in the order in which they are worth their tokens. */
export class Choice {
  readonly #tokenCounter: TokenCounter;
  #left: Candidate[];
  readonly #chosen: Candidate[] = [];
  readonly #passages = new Map<string, Candidate[]>();

  constructor(steps: readonly RecalledStep[], tokenCounter: TokenCounter) {
    this.#tokenCounter = tokenCounter;
    this.#left = steps.map((step) => candidateOf(step, tokenCounter));
    for (const candidate of this.#left) {
      const key = passageKey(candidate.step);
      const known = this.#passages.get(key);
      if (known === undefined) this.#passages.set(key, [candidate]);
      else known.push(candidate);
    }
  }

  get chosen(): Shown[] {
    return this.#chosen.map(({ offer }) => offer.shown);
  }

  /** Choose until nothing has room any more. @returns whether anything had. */
  fill(room: number): boolean {
    const countBefore = this.#chosen.length;
    let left = room;
    for (;;) {
      const best = this.#best(left);
      if (best === undefined) return this.#chosen.length > countBefore;
      left -= costOf(best);
      this.#chosen.push(best);
      this.#left = this.#left.filter((candidate) => candidate !== best);
      this.#openPassage(best);
    }
  }

  /** Show what is shortened in full, the best first, as far as there is room. */
  grow(room: number): void {
    let left = room;
    for (const candidate of this.#chosen) {
      // What is far too long is not even written out.
      if (candidate.whole === undefined || tokensOf(candidate.step) > 2 * (left + candidate.offer.tokenCount)) continue;
      const whole = candidate.whole();
      const more = whole.tokenCount - candidate.offer.tokenCount;
      if (more > left) continue;
      left -= more;
      candidate.offer = whole;
    }
  }

  #best(room: number): Candidate | undefined {
    let best: Candidate | undefined;
    let densityMax = 0;
    for (const candidate of this.#left) {
      const cost = costOf(candidate);
      if (cost > room) continue;
      const density = densityOf(candidate.offer.worth, cost);
      if (density > densityMax) [best, densityMax] = [candidate, density];
    }
    return best;
  }

  #openPassage({ step }: Candidate): void {
    const key = passageKey(step);
    for (const other of this.#passages.get(key) ?? []) {
      const id = isReachedBy(step, other.step) ? "" : ` id="${other.step.messages[0]!.id}"`;
      other.tagTokens = this.#tokenCounter.count(id);
    }
    this.#passages.delete(key); // the first of a passage names it, as far as is known yet
  }
}

function candidateOf(step: RecalledStep, tokenCounter: TokenCounter): Candidate {
  const whole = () => offerOf(showWhole(step), step.worth, tokenCounter);
  const offers: Offer[] = [];
  if (tokensOf(step) <= SHORTENED_TOKENS) offers.push(whole());
  if (offers[0] === undefined || offers[0].tokenCount > WHOLE_TOKENS) {
    offers.push(offerOf(showShortened(step), SHORTENED_SHARE * step.worth, tokenCounter));
  }
  const tagTokens = lineTokens(passageFrame(offers[0]!.shown), tokenCounter);
  const densityIn = ({ worth, tokenCount }: Offer) => densityOf(worth, tokenCount + tagTokens);
  const offer = offers.reduce((best, other) => (densityIn(other) > densityIn(best) ? other : best));
  return {
    step,
    offer,
    whole: offer.shown.messages.every(({ how }) => how === "verbatim") ? undefined : whole,
    tagTokens,
  };
}

/** By the stored counts of its messages, which is about what it costs to write them out. */
function tokensOf({ messages }: RecalledStep): number {
  return messages.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
}

function costOf({ offer, tagTokens }: Candidate): number {
  return offer.tokenCount + tagTokens;
}

function densityOf(worth: number, tokenCount: number): number {
  return worth / tokenCount ** COST_EXPONENT;
}

function offerOf(shown: Shown, worth: number, tokenCounter: TokenCounter): Offer {
  const tokenCount = linesOf(shown, false).reduce((sum, line) => sum + lineTokens(line, tokenCounter), 0);
  return { shown, tokenCount, worth };
}
