export const UNVERIFIED = "[unverified]";

/** Begins a statement that a reader needs even if there is room for few. */
export const IMPORTANT = "! ";

/** The labels of all lines except events. The last two begin lists, whose entries are separated by `, `. */
export const LABEL = { decision: "Decided: ", question: "Open: ", identifiers: "names: ", files: "files: " };

/** The most seqs that are read from the citations of one text. A text such as `[1-999999999]` must not fill the memory. */
const SEQS_MAX = 10_000;

// The lookbehind lets a match start only at the first white space. Otherwise a long run would take quadratic time.
const CITATION = /(?<!\s)\s*\[(?:seqs?:? ?)?(\d{1,15}(?:-\d{1,15})?(?:, ?\d{1,15}(?:-\d{1,15})?)*)\]/g;
const MARK = /(?<!\s)\s*\[unverified\]/g;

/**
 * Returns a citation such as `[3,7-9]`, ascending and each seq once, or "" if there are no seqs.
 * @param stepMax  Seqs that are no farther apart are written as a range.
 */
export function citation(seqs: Iterable<number>, stepMax = 1): string {
  const sorted = [...new Set(seqs)].sort((left, right) => left - right);
  const ranges: string[] = [];
  for (let from = 0, to = 0; from < sorted.length; from = to + 1) {
    for (to = from; sorted[to + 1]! - sorted[to]! <= stepMax; ) to++;
    ranges.push(from === to ? `${sorted[from]}` : `${sorted[from]}-${sorted[to]}`);
  }
  return ranges.length === 0 ? "" : `[${ranges.join(",")}]`;
}

/** Writes the citations in a text with ranges that bridge single messages, such as what the other side of a dialogue said. */
export function withShortCitations(text: string): string {
  return text.replace(CITATION, (cited) => {
    const { seqs } = takeCitations(cited);
    return seqs.length === 0 ? cited : ` ${citation(seqs, 2)}`;
  });
}

/** Splits a line of a summary into statements. In a list, each entry is a statement. */
export function statementsIn(line: string): string[] {
  const label = [LABEL.identifiers, LABEL.files].find((start) => line.startsWith(start));
  return label === undefined ? [line] : line.slice(label.length).split(", ");
}

/** Removes citations and `[unverified]` marks from a text. */
export function takeCitations(text: string): { text: string; seqs: number[]; isMarked: boolean } {
  const seqs: number[] = [];
  for (const [, list] of text.matchAll(CITATION)) {
    for (const range of list!.split(",")) seqs.push(...seqsOfRange(range, SEQS_MAX - seqs.length));
  }
  const bare = text.replace(CITATION, "").replace(MARK, "").trim();
  return { text: bare, seqs, isMarked: text.includes(UNVERIFIED) };
}

function seqsOfRange(range: string, lengthMax: number): number[] {
  const [first, last = first] = range.split("-").map(Number);
  const length = last! - first! + 1;
  return length >= 1 && length <= lengthMax ? Array.from({ length }, (_, index) => first! + index) : [];
}
