import { StoreError } from "../../src/index.ts";

/** Returns the error of the store's own with which a promise is rejected. */
export async function rejection(promise: Promise<unknown>): Promise<StoreError> {
  const error = await promise.then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason,
  );
  if (!StoreError.is(error)) throw error;
  return error;
}
