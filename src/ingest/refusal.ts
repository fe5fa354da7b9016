import { StoreError } from "../core/errors.ts";

/** For embedders that say no more than the status: of the key, of who pays, of what the key may do, of the model's name. */
const OF_ACCOUNT: readonly number[] = [401, 402, 403, 404];

/** Whether what an embedder threw is about the key, the account or the model's name: whatever the text, it would be the same. */
export function isOfAccount(error: unknown): boolean {
  if (StoreError.is(error, "MODEL_KEY_MISSING") || StoreError.is(error, "EMBEDDER_MISMATCH")) return true;
  if (!StoreError.is(error, "MODEL_REFUSED")) return false;
  const { concerns, status = 0 } = error.details;
  return concerns === "account" || OF_ACCOUNT.includes(status);
}
