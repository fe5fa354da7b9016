import { StoreError } from "../core/errors.ts";

/** HTTP statuses about the key, who pays, what the key may do, or the model's name: every other request would be refused, too. */
export const OF_ACCOUNT: readonly number[] = [401, 402, 403, 404];

/**
 * Whether what a model threw is about the key, the account or the settings: whatever is sent, it would be the same. A model
 * that says no more than the status is understood, too.
 */
export function isOfAccount(error: unknown): boolean {
  if (StoreError.is(error, "MODEL_KEY_MISSING") || StoreError.is(error, "EMBEDDER_MISMATCH")) return true;
  if (!StoreError.is(error, "MODEL_REFUSED")) return false;
  const { concerns, status = 0 } = error.details;
  return concerns === "account" || OF_ACCOUNT.includes(status);
}
