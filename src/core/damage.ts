/**
 * Stored bytes are not what was written. It is thrown where a row is decoded, or found missing; the store's `guard` passes it on as
 * `STORE_CORRUPT`.
 */
export class DamageError extends Error {
  override name = "DamageError";
}

/** Parses JSON that was stored. @throws {DamageError} */
export function parseStored(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new DamageError("a stored value is not JSON", { cause });
  }
}

/** Checks an invariant. A failure is a bug of this library, so it throws a plain Error that nobody catches. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${invariant}.`);
}
