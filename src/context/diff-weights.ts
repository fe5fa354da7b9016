import { RANK } from "./output-weights.ts";

const FILE = /^(?:diff |rename |new file|deleted file|Binary files )/;
const HUNK = /^@@ -\d/;
const COMMIT = /^(?:commit [0-9a-f]{7}|Author:|Date:|Subject:|From:| {4}\S)/;

export function isDiff(text: string): boolean {
  return /^@@ -\d/m.test(text) && /^(?:diff |\+\+\+ )/m.test(text);
}

/**
 * How much each line of a diff matters: headers of files most, then headers of hunks, then changed lines, of each hunk the
 * first before the second of any; then what a commit says of itself. Context weighs nothing.
 */
export function diffWeights(lines: readonly string[]): Int32Array {
  let changed = 0;
  let isInHunk = false;
  return Int32Array.from(lines, (line, index) => {
    if (HUNK.test(line)) {
      changed = 0;
      isInHunk = true;
      return 3 * RANK;
    }
    const isHeader = line.startsWith("+++ ") && lines[index - 1]?.startsWith("--- ") === true;
    if (isHeader || FILE.test(line)) {
      isInHunk = false;
      return 4 * RANK;
    }
    if (isInHunk && /^[+-]/.test(line)) return 2 * RANK - Math.min(changed++, RANK - 1);
    return COMMIT.test(line) ? RANK : 0;
  });
}
