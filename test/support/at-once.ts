import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "vitest";
import { StoreError } from "../../src/index.ts";

/** Whatever waits for a timer or for a server takes thousands of turns of the event loop. Promises alone take one or two. */
const TURNS_MAX = 20;

/**
 * Fails unless a promise settles within a few turns of the event loop from now. Turns are counted because, on a busy machine,
 * even what happens at once may take long.
 */
export async function expectAtOnce(promise: Promise<unknown>): Promise<void> {
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
  };
  promise.then(settle, settle);
  for (let turns = 0; !isSettled && turns < TURNS_MAX; turns++) await nextTurn();
  expect(isSettled, `settled within ${TURNS_MAX} turns of the event loop`).toBe(true);
}

/** The typed error that a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<StoreError> {
  const error = await promise.then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason,
  );
  if (!StoreError.is(error)) throw error;
  return error;
}
