/**
 * Divides `room`: small needs are met, and large ones share the remaining room equally.
 *
 * @param needs  Each at least 0, in any order.
 * @returns whole numbers, each at most its need, together at most `room`.
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
