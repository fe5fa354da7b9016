import { RANK } from "./output-weights.ts";

const FILE = /^(?:diff |rename |new file|deleted file|Binary files )/;
const HUNK = /^@@ -\d/;
const COMMIT = /^(?:commit [0-9a-f]{7}|Author:|Date:|Subject:|From:| {4}\S)/;

export function isDiff(text: string): boolean {
  return /^@@ -\d/m.test(text) && /^(?:diff |\+\+\+ )/m.test(text);
}

/**
 * Returns the weight of each line of a diff: headers of files weigh most, then headers of hunks, then changed lines, then the
 * commit's header and message. The first changed line of each hunk weighs more than the second of any. Context lines weigh 0.
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
