import { diffWeights, FOREIGN_FRAME, isDiff, outputWeights, REPEATED, WEIGHT_MAX } from "./line-weights.ts";
import { cutMiddle } from "./shorten.ts";

/** The first and the last lines each get this share of the room. They say what was run and how it ended. */
const END_SHARE = 0.15;

/** With fewer characters no lines are chosen, because a marker alone takes 25. */
const CHOOSING_CHARS_MIN = 120;

/** A line may take this share of the room, and at least 80 characters. */
const LINE_SHARE = 1 / 4;
const LINE_CHARS_MIN = 80;

/**
 * Keeps the lines of a text that matter, in order: the first and last lines, then the lines with the greatest weight, then
 * more lines from both ends. A marker counts the lines left out at each gap. Long lines are cut in the middle.
 *
 * @param charsMax  Most UTF-16 units of the result.
 */
export function distillLines(text: string, charsMax: number): string {
  if (charsMax < CHOOSING_CHARS_MIN) return cutMiddle(text, charsMax, charactersLeftOut);
  const lines = text.split("\n");
  const ofDiff = isDiff(text);
  const weights = ofDiff ? diffWeights(lines) : outputWeights(lines);
  const selection = new LineSelection(lines, charsMax);
  const [first, last, all] = [0, lines.length - 1, Number.POSITIVE_INFINITY];

  const end = ofDiff ? 0 : charsMax * END_SHARE; // the ends of a diff are not special
  selection.walk(first, 1, end);
  selection.walk(last, -1, end);
  for (const index of byWeight(weights)) selection.take(index);
  const isNews = (index: number) => weights[index]! >= 0;
  selection.walk(first, 1, (selection.room * 2) / 3, isNews);
  selection.walk(last, -1, all, isNews);
  selection.walk(first, 1, all, isNews);
  selection.walk(first, 1, all);
  return selection.text(weights);
}

/** Returns the indexes of the weights above 0, heaviest first, then in order. */
function byWeight(weights: Int32Array): number[] {
  const lineCount = weights.length;
  const keys = new Float64Array(lineCount);
  let count = 0;
  weights.forEach((weight, index) => {
    if (weight > 0) keys[count++] = (WEIGHT_MAX - weight) * lineCount + index;
  });
  return Array.from(keys.subarray(0, count).sort(), (key) => key % lineCount);
}

class LineSelection {
  readonly #lines: readonly string[];
  readonly #lineCharsMax: number;
  readonly #markerChars: number;
  readonly #selected: Uint8Array;
  /** The characters that remain for lines, besides the markers of all gaps. */
  room: number;

  constructor(lines: readonly string[], charsMax: number) {
    this.#lines = lines;
    const share = Math.floor(charsMax * Math.max(LINE_SHARE, 1 / lines.length)) - 1;
    this.#lineCharsMax = Math.max(LINE_CHARS_MIN, share);
    this.#markerChars = markerOf(lines.length, REPEATED).length + 1;
    this.#selected = new Uint8Array(lines.length);
    this.room = charsMax + 1 - this.#markerChars; // no line break follows the last line
  }

  /** Selects a line. Returns false if there is no room for it. */
  take(index: number): boolean {
    if (this.#selected[index] === 1) return true;
    // A line in the middle of a gap needs one more marker. A line that fills a gap saves one.
    const gaps = 1 - this.#isSelected(index - 1) - this.#isSelected(index + 1);
    const cost = this.#chars(index) + gaps * this.#markerChars;
    if (cost > this.room) return false;
    this.room -= cost;
    this.#selected[index] = 1;
    return true;
  }

  /** Selects line after line until one has no room, or until `charsMax` are spent. */
  walk(from: number, by: 1 | -1, charsMax: number, isWanted: (index: number) => boolean = () => true): void {
    const roomMin = this.room - charsMax;
    for (let index = from; index >= 0 && index < this.#lines.length; index += by) {
      if (!isWanted(index)) continue;
      if (this.#selected[index] === 0 && this.room - this.#chars(index) < roomMin) return;
      if (!this.take(index)) return;
    }
  }

  text(weights: Int32Array): string {
    const written: string[] = [];
    for (let index = 0; index < this.#lines.length; ) {
      if (this.#selected[index] === 1) {
        written.push(cutMiddle(this.#lines[index++]!, this.#lineCharsMax, charactersLeftOut));
        continue;
      }
      const start = index;
      let chars = -1;
      let kind = weights[start]!;
      for (; index < this.#lines.length && this.#selected[index] === 0; index++) {
        chars += this.#lines[index]!.length + 1;
        if (weights[index] !== kind) kind = 0;
      }
      const marker = markerOf(index - start, kind);
      if (chars <= marker.length) written.push(...this.#lines.slice(start, index));
      else written.push(marker);
    }
    return written.join("\n");
  }

  #chars(index: number): number {
    return Math.min(this.#lines[index]!.length, this.#lineCharsMax) + 1;
  }

  /** The places beyond both ends count as selected, because no gap is there. */
  #isSelected(index: number): number {
    return this.#selected[index] ?? 1;
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
