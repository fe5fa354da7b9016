/** An invariant of ours. A failure is a bug here, not a mistake of the caller: a plain Error that nobody catches. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${invariant}.`);
}
