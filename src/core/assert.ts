/** Checks an invariant. A failure is our bug, not a mistake of the caller, so it is a plain Error that nobody catches. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${invariant}.`);
}
