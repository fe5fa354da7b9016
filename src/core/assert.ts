/** Checks an invariant. A failure is a bug of this library, so it throws a plain Error that nobody catches. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${invariant}.`);
}
