/** Characters of a line that are looked at. What a line is about stands at its beginning. */
const LOOKED_AT_CHARS = 300;

/** Characters by which lines are compared. */
const SHAPE_CHARS = 80;

/** A line is a repetition if one of so many lines before it that were none looks like it. */
const REPEATED_WITHIN = 4;

/** Lines after a failure that are likely to say more about it: what was expected, where it points to. */
const AFTER_FAILURE = 3;

/** Weights of lines that say nothing new. */
export const REPEATED = -1;
export const FOREIGN_FRAME = -2;

/** From one rank to the next. The first of many that look alike weighs this much; each further one is worth one less. */
export const RANK = 1_000;
export const WEIGHT_MAX = 4 * RANK;

const FAILURE =
  /\b(?:errors?|err!|fail(?:s|ed|ure|ures|ing)?|fatal|panic(?:ked)?|exception|traceback|denied|refused|not found|no such|cannot|can't|unable to|unhandled|undefined reference|unresolved|asserti?o?n?s?|abort(?:ed)?|timed? ?out|segmentation fault|killed|exit (?:code|status)|exited|caused by)|(?:Error|Exception)\b|^\s*(?:✗|✕|✘|×|❌|●|not ok\b|E {2,}\S|>{3} )/i;
const SUMMARY =
  /\b\d+ (?:tests?|specs?|suites?|examples?|pass(?:ed|ing)?|skipped|pending|warnings?|problems?|files? changed|insertions?|deletions?|packages?|vulnerabilit)|^\s*(?:tests?|test suites|test files|snapshots|total|summary|ran|result|coverage|duration|real|status)\b ?[:\d]|\bwarn(?:ing)?\b|\bdeprecated\b|^ok\s+\S+\s+[\d.]+s|^PASS\b|^BUILD\b/i;
const FRAME = /^\s*(?:at \S.*[:(]|File ".*", line \d|\d+: +(?:0x|\w+::)|goroutine \d|\S+\.go:\d+ \+0x)/;
const FOREIGN =
  /node_modules|\bnode:|\(internal\/|<anonymous>|site-packages|dist-packages|\/lib\/python|<frozen|\/usr\/(?:local\/)?lib\/|\/go\/pkg\/mod\/|\/usr\/local\/go\/|\/rustc\/|\.cargo\/registry|\b(?:core|std|alloc)::|\b(?:java|javax|jdk|sun|kotlin|scala)\.|org\.(?:junit|springframework|gradle|apache)\.|System\.|Microsoft\./;
/** A file's name before a line number. It starts once for each run of its characters: otherwise a long run costs its square. */
const PLACE = /(?<![\w@~.+\\/-])(?=\d*[a-z_@~./\\])[\w@~.+\\/-]+(?=[:(]\d|", line \d|#L\d)/i;
const OUTLINE =
  /^(?:\s*\d+[\t:|→ ]\s*)?(?:#{1,6} \S|\s{0,4}(?:export|public|private|protected|static|abstract|async|def|class|func|function|interface|type|struct|impl|trait|enum|fn|pub|module|package|CREATE)\b)|^\s*(?:✓|✔|√|ok \d|--- |=== |\+ |\$ |> |test \S)/;

/**
 * How much each line of a tool's output matters: failures most, then counts and warnings, then places in files, then outlines
 * and names of tests; 0 for ordinary lines. Lines of every kind of output are told apart one by one, since a test report holds
 * stack traces and a log holds both.
 *
 * Of lines that look alike but for their numbers, each weighs less than the one before it, so that one noisy warning does not
 * take the room of all others; the same goes for places in one file.
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
      // The third failure of a kind is still a failure; the third line of a progress bar is nothing.
      if (!isFailure) {
        weights[index] = REPEATED;
        continue;
      }
    } else {
      recent.push(shape);
      if (recent.length > REPEATED_WITHIN) recent.shift();
    }
    const place = PLACE.exec(line)?.[0].match(/.*[./\\].*/)?.[0];
    let rank = isFrame
      ? 2
      : isFailure
        ? 4
        : SUMMARY.test(line)
          ? 3
          : place !== undefined
            ? 2
            : OUTLINE.test(line)
              ? 1
              : 0;
    if (rank === 4) failureLeft = AFTER_FAILURE;
    else if (failureLeft > 0) {
      failureLeft--;
      rank = Math.max(rank, 1);
    }
    if (rank === 0) continue;
    const key = rank === 2 && place !== undefined ? place : shape;
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    weights[index] = rank * RANK - Math.min(count, RANK - 1);
  }
  return weights;
}
