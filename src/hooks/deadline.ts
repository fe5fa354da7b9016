import { runInThisContext } from "node:vm";

const NAME = "coppice work with a deadline";

/**
 * Returns the result of synchronous work. After `ms` it is ended between two of its steps, without its `finally` blocks; one call of
 * SQLite is a step. A thread that watches would cost more than all that a hook does.
 *
 * @throws {Error} `ERR_SCRIPT_EXECUTION_TIMEOUT` after `ms`, which is at least 1; whatever the work throws.
 */
export function within<T>(ms: number, work: () => T): T {
  Object.defineProperty(globalThis, NAME, { value: work, configurable: true });
  return runInThisContext(`globalThis[${JSON.stringify(NAME)}]()`, { timeout: Math.max(1, Math.ceil(ms)) });
}
