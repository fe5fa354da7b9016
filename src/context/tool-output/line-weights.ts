/** Only this many characters of a line are searched for words. */
const LOOKED_AT_CHARS = 300;
/** Only this many characters of a line are compared with other lines. */
const SHAPE_CHARS = 80;

/** A line is a repetition if it looks like one of this many distinct lines before it. */
const REPEATED_WITHIN = 4;

/** Lines after a failure that are likely to say more about it: the expected value, the location. */
const AFTER_FAILURE = 3;

/** The weights of lines that say nothing new. */
export const REPEATED = -1;
export const FOREIGN_FRAME = -2;

/** The difference between two ranks. Among lines that look alike, each weighs 1 less than the line before. */
const RANK = 1_000;
export const WEIGHT_MAX = 4 * RANK;

const FAILURE =
  /\b(?:errors?|err!|fail(?:s|ed|ure|ures|ing)?|fatal|panic(?:ked)?|exception|traceback|denied|refused|not found|no such|cannot|can't|unable to|unhandled|undefined reference|unresolved|asserti?o?n?s?|abort(?:ed)?|timed? ?out|segmentation fault|killed|exit (?:code|status)|exited|caused by)|(?:Error|Exception)\b|^\s*(?:✗|✕|✘|×|❌|●|not ok\b|E {2,}\S|>{3} )/i;
const SUMMARY =
  /\b\d+ (?:tests?|specs?|suites?|examples?|pass(?:ed|ing)?|skipped|pending|warnings?|problems?|files? changed|insertions?|deletions?|packages?|vulnerabilit)|^\s*(?:tests?|test suites|test files|snapshots|total|summary|ran|result|coverage|duration|real|status)\b ?[:\d]|\bwarn(?:ing)?\b|\bdeprecated\b|^ok\s+\S+\s+[\d.]+s|^PASS\b|^BUILD\b/i;
const FRAME = /^\s*(?:at \S.*[:(]|File ".*", line \d|\d+: +(?:0x|\w+::)|goroutine \d|\S+\.go:\d+ \+0x)/;
const FOREIGN =
  /node_modules|\bnode:|\(internal\/|<anonymous>|site-packages|dist-packages|\/lib\/python|<frozen|\/usr\/(?:local\/)?lib\/|\/go\/pkg\/mod\/|\/usr\/local\/go\/|\/rustc\/|\.cargo\/registry|\b(?:core|std|alloc)::|\b(?:java|javax|jdk|sun|kotlin|scala)\.|org\.(?:junit|springframework|gradle|apache)\.|System\.|Microsoft\./;
/** The lookbehind keeps the time linear in a long run of name characters. */
const FILE_LINE = /(?<![\w@~.+\\/-])(?=\d*[a-z_@~./\\])[\w@~.+\\/-]+(?=[:(]\d|", line \d|#L\d)/i;
const OUTLINE =
  /^(?:\s*\d+[\t:|→ ]\s*)?(?:#{1,6} \S|\s{0,4}(?:export|public|private|protected|static|abstract|async|def|class|func|function|interface|type|struct|impl|trait|enum|fn|pub|module|package|CREATE)\b)|^\s*(?:✓|✔|√|ok \d|--- |=== |\+ |\$ |> |test \S)/;

/**
 * Returns the weight of each line of a tool's output: failures weigh most, then counts and warnings, then locations in files,
 * then outlines and names of tests. Ordinary lines weigh 0.
 *
 * If lines differ only in their numbers, or name the same file, each weighs less than the line before. So one noisy warning does
 * not take all the room.
 */
export function outputWeights(lines: readonly string[]): Int32Array {
  const weights = new Int32Array(lines.length);
  const counts = new Map<string, number>();
  const recent: string[] = [];
  let failureLeft = 0;
  for (const [index, whole] of lines.entries()) {
    if (whole === "") continue;
    const line = whole.length > LOOKED_AT_CHARS ? whole.slice(0, LOOKED_AT_CHARS) : whole;
    const shape = line.replace(/\d[\w.:-]*/g, "0").slice(0, SHAPE_CHARS);
    const isFrame = FRAME.test(line);
    if (isFrame && FOREIGN.test(line)) {
      weights[index] = FOREIGN_FRAME;
      continue;
    }
    const isFailure = FAILURE.test(line);
    if (recent.includes(shape)) {
      // The third failure of a kind still matters; the third line of a progress bar does not.
      if (!isFailure) {
        weights[index] = REPEATED;
        continue;
      }
    } else {
      recent.push(shape);
      if (recent.length > REPEATED_WITHIN) recent.shift();
    }
    const file = FILE_LINE.exec(line)?.[0].match(/.*[./\\].*/)?.[0];
    let rank = rankOf(line, isFrame, isFailure, file !== undefined);
    if (rank === 4) failureLeft = AFTER_FAILURE;
    else if (failureLeft > 0) {
      failureLeft--;
      rank = Math.max(rank, 1);
    }
    if (rank === 0) continue;
    const key = rank === 2 && file !== undefined ? file : shape;
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    weights[index] = rank * RANK - Math.min(count, RANK - 1);
  }
  return weights;
}

function rankOf(line: string, isFrame: boolean, isFailure: boolean, hasFile: boolean): number {
  if (isFrame) return 2;
  if (isFailure) return 4;
  if (SUMMARY.test(line)) return 3;
  if (hasFile) return 2;
  return OUTLINE.test(line) ? 1 : 0;
}

const FILE = /^(?:diff |rename |new file|deleted file|Binary files )/;
const HUNK = /^@@ -\d/;
const COMMIT = /^(?:commit [0-9a-f]{7}|Author:|Date:|Subject:|From:| {4}\S)/;

export function isDiff(text: string): boolean {
  return /^@@ -\d/m.test(text) && /^(?:diff |\+\+\+ )/m.test(text);
}

/**
 * Returns the weight of each line of a diff: headers of files weigh most, then headers of hunks, then changed lines, then the
 * commit's header and message. Within a hunk, earlier changed lines weigh more. Context lines weigh 0.
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
