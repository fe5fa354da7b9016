export interface DiffLine {
  kind: "same" | "added" | "removed" | "frame";
  text: string;
}

/** The most comparisons of two lines; more take too long for a page. */
const COMPARISONS_MAX = 400_000;

/** Returns the lines of both texts, by their longest common subsequence. */
export function compare(before: string, after: string): DiffLine[] {
  const [old, young] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < young.length && old[start] === young[start]) start++;
  let end = 0;
  while (end < old.length - start && end < young.length - start && old.at(-1 - end) === young.at(-1 - end)) end++;
  const same = (lines: string[]): DiffLine[] => lines.map((text) => ({ kind: "same", text }));
  const middle = between(old.slice(start, old.length - end), young.slice(start, young.length - end));
  return [...same(old.slice(0, start)), ...middle, ...same(end === 0 ? [] : old.slice(-end))];
}

const linesOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));

function between(old: string[], young: string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (old.length * young.length > COMPARISONS_MAX) return [...old.map(removed), ...young.map(added)];
  const width = young.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  for (let row = old.length - 1; row >= 0; row--) {
    for (let column = young.length - 1; column >= 0; column--) {
      const at = row * width + column;
      lengths[at] =
        old[row] === young[column] ? lengths[at + width + 1]! + 1 : Math.max(lengths[at + width]!, lengths[at + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length && column < young.length) {
    const at = row * width + column;
    if (old[row] === young[column]) {
      lines.push({ kind: "same", text: old[row++]! });
      column++;
    } else if (lengths[at + width]! >= lengths[at + 1]!) lines.push(removed(old[row++]!));
    else lines.push(added(young[column++]!));
  }
  return [...lines, ...old.slice(row).map(removed), ...young.slice(column).map(added)];
}
