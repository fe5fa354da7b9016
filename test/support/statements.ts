import Database from "better-sqlite3";

/**
 * Look at every statement that is run for what it changes, in any connection of this process, just before it is: BEGIN
 * and COMMIT too. `hook` gets its number, from 1, and its SQL, and may throw.
 *
 * @returns how many statements `run` came to, and what it threw, if it did.
 */
export async function watchingStatements(
  hook: (statementNumber: number, sql: string) => void,
  run: () => unknown,
): Promise<{ count: number; error: unknown }> {
  const database = new Database(":memory:");
  const prototype = Object.getPrototypeOf(database.prepare("SELECT 1")) as { run: (...values: unknown[]) => unknown };
  database.close();
  const original = prototype.run;
  let count = 0;
  let error: unknown;
  prototype.run = function (this: { source: string }, ...values) {
    count += 1;
    hook(count, this.source);
    return original.apply(this, values);
  };
  try {
    await run();
  } catch (thrown) {
    error = thrown;
  } finally {
    prototype.run = original;
  }
  return { count, error };
}
