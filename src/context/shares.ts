/**
 * Divide `room` so that what needs little gets all of it and what needs much gets an equal share of the rest.
 *
 * @param needs  At least 0, in any order.
 * @returns of each, at most its need; whole numbers, together at most `room`.
 */
export function sharesOf(needs: readonly number[], room: number): number[] {
  const shares = needs.map(() => 0);
  const ascending = needs.map((_, index) => index).sort((left, right) => needs[left]! - needs[right]!);
  let left = Math.max(0, room);
  ascending.forEach((index, rank) => {
    shares[index] = Math.min(needs[index]!, Math.floor(left / (needs.length - rank)));
    left -= shares[index];
  });
  return shares;
}
