import type { TokenCounter } from "../core/tokens.ts";
import { lineTokens, tokenSum } from "./costs.ts";
import type { EvidenceStep } from "./evidence.ts";
import {
  isReachedBy,
  passageFrame,
  passageKey,
  type ShownStep,
  showShortened,
  showWhole,
  stepLines,
} from "./passages.ts";

/** Only steps with more tokens are shortened, because shortening others saves little. */
const WHOLE_TOKENS = 120;

/** A step with more tokens competes only as a snippet, because its snippet is always worth more for its tokens. */
const SHORTENED_TOKENS = 1_000;

/** The worth of a shortened step relative to the whole one. */
const SHORTENED_SHARE = 0.4;

/** The exponent of a step's tokens. Scores already prefer short messages, so 1 would count length twice. */
const COST_EXPONENT = 0.5;

/** A step, whole or shortened, with its cost. */
interface Variant {
  shown: ShownStep;
  /** The tokens of its lines. */
  tokenCount: number;
  worth: number;
}

/** A step that may be selected, in the variant that is worth most for its tokens. */
interface Candidate {
  step: EvidenceStep;
  variant: Variant;
  /** Makes the whole step; undefined if the variant is whole. */
  whole: (() => Variant) | undefined;
  /** The tokens of the passage's tags; once the passage exists, the tokens of the step's id. */
  tagTokens: number;
}

/** Selects steps for the evidence block, in the order of their worth for their tokens. */
export class EvidenceSelection {
  readonly #tokenCounter: TokenCounter;
  #candidates: Candidate[];
  readonly #selected: Candidate[] = [];
  /** The candidates of each passage in which nothing is selected yet. */
  readonly #passages = new Map<string, Candidate[]>();

  constructor(steps: readonly EvidenceStep[], tokenCounter: TokenCounter) {
    this.#tokenCounter = tokenCounter;
    this.#candidates = steps.map((step) => candidateOf(step, tokenCounter));
    for (const candidate of this.#candidates) {
      const key = passageKey(candidate.step);
      const known = this.#passages.get(key);
      if (known === undefined) this.#passages.set(key, [candidate]);
      else known.push(candidate);
    }
  }

  get steps(): ShownStep[] {
    return this.#selected.map(({ variant }) => variant.shown);
  }

  /** Selects until nothing else has room. @returns true if anything was selected. */
  fill(room: number): boolean {
    const countBefore = this.#selected.length;
    let left = room;
    for (;;) {
      const best = this.#best(left);
      if (best === undefined) return this.#selected.length > countBefore;
      left -= costOf(best);
      this.#selected.push(best);
      this.#candidates = this.#candidates.filter((candidate) => candidate !== best);
      this.#openPassage(best);
    }
  }

  /** Shows shortened steps whole, best first, as far as there is room. */
  grow(room: number): void {
    let left = room;
    for (const candidate of this.#selected) {
      // A step that is far too long is not written out, because that takes long.
      if (candidate.whole === undefined) continue;
      if (tokenSum(candidate.step.messages) > 2 * (left + candidate.variant.tokenCount)) continue;
      const whole = candidate.whole();
      const more = whole.tokenCount - candidate.variant.tokenCount;
      if (more > left) continue;
      left -= more;
      candidate.variant = whole;
    }
  }

  #best(room: number): Candidate | undefined {
    let best: Candidate | undefined;
    let densityMax = 0;
    for (const candidate of this.#candidates) {
      const cost = costOf(candidate);
      if (cost > room) continue;
      const density = densityOf(candidate.variant.worth, cost);
      if (density > densityMax) [best, densityMax] = [candidate, density];
    }
    return best;
  }

  /** The first selected step of a passage pays for its tags. The others then pay for their ids only. */
  #openPassage({ step }: Candidate): void {
    const key = passageKey(step);
    for (const other of this.#passages.get(key) ?? []) {
      const id = isReachedBy(step, other.step) ? "" : ` id="${other.step.messages[0]!.id}"`;
      other.tagTokens = this.#tokenCounter.count(id);
    }
    this.#passages.delete(key);
  }
}

function candidateOf(step: EvidenceStep, tokenCounter: TokenCounter): Candidate {
  const whole = () => variantOf(showWhole(step), step.worth, tokenCounter);
  const variants: Variant[] = [];
  // The stored token counts are about what the messages cost when written out.
  if (tokenSum(step.messages) <= SHORTENED_TOKENS) variants.push(whole());
  if (variants[0] === undefined || variants[0].tokenCount > WHOLE_TOKENS) {
    variants.push(variantOf(showShortened(step), SHORTENED_SHARE * step.worth, tokenCounter));
  }
  const tagTokens = lineTokens(passageFrame(variants[0]!.shown), tokenCounter);
  const densityIn = ({ worth, tokenCount }: Variant) => densityOf(worth, tokenCount + tagTokens);
  const variant = variants.reduce((best, other) => (densityIn(other) > densityIn(best) ? other : best));
  const isWhole = variant.shown.messages.every(({ how }) => how === "verbatim");
  return { step, variant, whole: isWhole ? undefined : whole, tagTokens };
}

function variantOf(shown: ShownStep, worth: number, tokenCounter: TokenCounter): Variant {
  const tokenCount = stepLines(shown, false).reduce((sum, line) => sum + lineTokens(line, tokenCounter), 0);
  return { shown, tokenCount, worth };
}

function costOf({ variant, tagTokens }: Candidate): number {
  return variant.tokenCount + tagTokens;
}

function densityOf(worth: number, tokenCount: number): number {
  return worth / tokenCount ** COST_EXPONENT;
}
