/** What follows a statement that nothing vouches for. */
export const UNVERIFIED = "[unverified]";

/** How lines begin that are not what happened. The last two are lists: entries with a citation each, `, ` between. */
export const LABEL = { decision: "Decided: ", question: "Open: ", identifiers: "names: ", files: "files: " };

/** Numbers that the citations of one text may stand for: what only looks like them must not fill the memory. */
const SEQS_MAX = 10_000;

// White space from its first character on: tried from each, a long run of it would be read once for every character.
const CITATION = /(?<!\s)\s*\[(?:seqs?:? ?)?(\d{1,15}(?:-\d{1,15})?(?:, ?\d{1,15}(?:-\d{1,15})?)*)\]/g;
const MARK = /(?<!\s)\s*\[unverified\]/g;

/** `[3,7-9]`; "" for none. Ascending, each once; two neighbors are a range already. */
export function citation(seqs: Iterable<number>): string {
  const sorted = [...new Set(seqs)].sort((left, right) => left - right);
  const ranges: string[] = [];
  for (let from = 0, to = 0; from < sorted.length; from = to + 1) {
    for (to = from; sorted[to + 1] === sorted[to]! + 1; ) to++;
    ranges.push(from === to ? `${sorted[from]}` : `${sorted[from]}-${sorted[to]}`);
  }
  return ranges.length === 0 ? "" : `[${ranges.join(",")}]`;
}

/** The statements of a line of a summary: each entry of a list is one. */
export function statementsIn(line: string): string[] {
  const label = [LABEL.identifiers, LABEL.files].find((start) => line.startsWith(start));
  return label === undefined ? [line] : line.slice(label.length).split(", ");
}

/** A text without the citations and marks in it, and what they say. */
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
