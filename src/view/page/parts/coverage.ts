import type { CoverageRun } from "../../api.ts";

type CoverageHow = CoverageRun["how"];

export const HOWS: { how: CoverageHow; label: string; meaning: string }[] = [
  { how: "verbatim", label: "word for word", meaning: "every word is there" },
  { how: "shortened", label: "shortened", meaning: "some words are left out" },
  { how: "quoted", label: "quoted", meaning: "the record of the work quotes a line of it" },
  { how: "summary", label: "summarized", meaning: "a summary stands for it" },
  { how: "pointer", label: "only named", meaning: "a line says that it exists, and how to get it" },
  { how: "absent", label: "forgotten", meaning: "it is no longer in the store" },
];

export const labelOf = (how: string): string => HOWS.find((one) => one.how === how)?.label ?? "a note of Coppice";

export interface Difference {
  seqFirst: number;
  seqLast: number;
  before: CoverageHow;
  after: CoverageHow;
}

/** Returns where two contexts of a session treat messages differently. Runs have no gaps, and those of a newer moment may go on. */
export function differences(before: readonly CoverageRun[], after: readonly CoverageRun[]): Difference[] {
  const found: Difference[] = [];
  let [left, right] = [0, 0];
  while (left < before.length && right < after.length) {
    const [one, other] = [before[left]!, after[right]!];
    const seqFirst = Math.max(one.seqFirst, other.seqFirst);
    const seqLast = Math.min(one.seqLast, other.seqLast);
    if (one.how !== other.how) {
      const last = found.at(-1);
      if (last?.seqLast === seqFirst - 1 && last.before === one.how && last.after === other.how) last.seqLast = seqLast;
      else found.push({ seqFirst, seqLast, before: one.how, after: other.how });
    }
    if (one.seqLast === seqLast) left++;
    if (other.seqLast === seqLast) right++;
  }
  return found;
}

/** Returns how many messages a context treats in each way. */
export function countsOf(runs: readonly CoverageRun[]): Map<CoverageHow, number> {
  const counts = new Map<CoverageHow, number>();
  for (const { how, seqFirst, seqLast } of runs) counts.set(how, (counts.get(how) ?? 0) + seqLast - seqFirst + 1);
  return counts;
}
