/**
 * Returns how many letters must be inserted, deleted, replaced or swapped with their neighbor to make one word of another
 * (optimal string alignment), or `max + 1` if more than `max`.
 */
export function editsBetween(left: string, right: string, max: number): number {
  if (Math.abs(left.length - right.length) > max) return max + 1;
  let [before, above]: number[][] = [[], Array.from({ length: right.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const isEqual = left[row - 1] === right[column - 1];
      const isSwapped = row > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current[column] = Math.min(
        above![column]! + 1,
        current[column - 1]! + 1,
        above![column - 1]! + Number(!isEqual),
        isSwapped ? before![column - 2]! + 1 : Number.POSITIVE_INFINITY,
      );
    }
    if (Math.min(...current) > max) return max + 1;
    [before, above] = [above!, current];
  }
  return Math.min(above![right.length]!, max + 1);
}
