import { diffWeights, isDiff } from "./diff-weights.ts";
import { FOREIGN_FRAME, outputWeights, REPEATED, WEIGHT_MAX } from "./output-weights.ts";
import { cutMiddle } from "./shorten.ts";

/** What the first lines get of the room before anything else, and what the last get: what was run, how it ended. */
const END_SHARE = 0.15;

/** Below this many characters lines are not worth choosing: a marker alone takes 25. */
const CHOOSING_CHARS_MIN = 120;

/** A line may take a quarter of the room, and so much of a small room. */
const LINE_SHARE = 1 / 4;
const LINE_CHARS_MIN = 80;

/**
 * The lines of a text that matter, in their order: first and last ones, then those with the greatest weight, then what stands
 * beside the first and the last. Runs of other lines become a marker with their number; lines that are long are cut in the
 * middle.
 *
 * @param charsMax  Most UTF-16 units that come back.
 */
export function distillLines(text: string, charsMax: number): string {
  if (charsMax < CHOOSING_CHARS_MIN) return cutMiddle(text, charsMax, charactersLeftOut);
  const lines = text.split("\n");
  const ofDiff = isDiff(text);
  const weights = ofDiff ? diffWeights(lines) : outputWeights(lines);
  const choice = new Choice(lines, charsMax);

  const end = ofDiff ? 0 : charsMax * END_SHARE; // a diff ends with any line
  choice.walk(0, 1, end, () => true);
  choice.walk(lines.length - 1, -1, end, () => true);
  for (const index of byWeight(weights)) choice.take(index);
  const hasNews = (index: number) => weights[index]! >= 0;
  choice.walk(0, 1, (choice.room * 2) / 3, hasNews);
  choice.walk(lines.length - 1, -1, Number.POSITIVE_INFINITY, hasNews);
  choice.walk(0, 1, Number.POSITIVE_INFINITY, hasNews);
  choice.walk(0, 1, Number.POSITIVE_INFINITY, () => true);
  return choice.text(weights);
}

/** Indexes of the lines that weigh something: the heaviest first, of equals the first. */
function byWeight(weights: Int32Array): number[] {
  const lineCount = weights.length;
  const keys = new Float64Array(lineCount);
  let count = 0;
  weights.forEach((weight, index) => {
    if (weight > 0) keys[count++] = (WEIGHT_MAX - weight) * lineCount + index;
  });
  return Array.from(keys.subarray(0, count).sort(), (key) => key % lineCount);
}

/** Lines chosen so far, and the characters they leave. */
class Choice {
  readonly #lines: readonly string[];
  readonly #lineCharsMax: number;
  readonly #markerChars: number;
  readonly #chosen: Uint8Array;
  /** Characters that are left, once each run of other lines has its marker. */
  room: number;

  constructor(lines: readonly string[], charsMax: number) {
    this.#lines = lines;
    const share = Math.floor(charsMax * Math.max(LINE_SHARE, 1 / lines.length)) - 1;
    this.#lineCharsMax = Math.max(LINE_CHARS_MIN, share);
    this.#markerChars = markerOf(lines.length, REPEATED).length + 1;
    this.#chosen = new Uint8Array(lines.length);
    this.room = charsMax + 1 - this.#markerChars; // no line break after the last line
  }

  /** @returns whether there was room. */
  take(index: number): boolean {
    if (this.#chosen[index] === 1) return true;
    // A line between two runs needs a marker more; one that closes a run needs none for it.
    const runs = 1 - this.#isChosen(index - 1) - this.#isChosen(index + 1);
    const cost = Math.min(this.#lines[index]!.length, this.#lineCharsMax) + 1 + runs * this.#markerChars;
    if (cost > this.room) return false;
    this.room -= cost;
    this.#chosen[index] = 1;
    return true;
  }

  /** Take line after line until one has no room, or until `charsMax` are spent. */
  walk(from: number, by: 1 | -1, charsMax: number, isWanted: (index: number) => boolean): void {
    const roomMin = this.room - charsMax;
    for (let index = from; index >= 0 && index < this.#lines.length; index += by) {
      if (!isWanted(index)) continue;
      const chars = Math.min(this.#lines[index]!.length, this.#lineCharsMax) + 1;
      if (this.#chosen[index] === 0 && this.room - chars < roomMin) return;
      if (!this.take(index)) return;
    }
  }

  text(weights: Int32Array): string {
    const written: string[] = [];
    for (let index = 0; index < this.#lines.length; ) {
      if (this.#chosen[index] === 1) {
        written.push(cutMiddle(this.#lines[index++]!, this.#lineCharsMax, charactersLeftOut));
        continue;
      }
      const start = index;
      let chars = -1;
      let kind = weights[start]!;
      for (; index < this.#lines.length && this.#chosen[index] === 0; index++) {
        chars += this.#lines[index]!.length + 1;
        if (weights[index] !== kind) kind = 0;
      }
      const marker = markerOf(index - start, kind);
      if (chars <= marker.length) written.push(...this.#lines.slice(start, index));
      else written.push(marker);
    }
    return written.join("\n");
  }

  /** Beyond the ends nothing is left out. */
  #isChosen(index: number): number {
    return this.#chosen[index] ?? 1;
  }
}

function markerOf(lineCount: number, kind: number): string {
  if (kind === REPEATED) return `[… ${lineCount} more like ${lineCount === 1 ? "this one" : "these"} …]`;
  const what = kind === FOREIGN_FRAME ? "library frame" : "line";
  return `[… ${lineCount} ${what}${lineCount === 1 ? "" : "s"} …]`;
}

function charactersLeftOut(charCount: number): string {
  return ` [… ${charCount} characters …] `;
}
