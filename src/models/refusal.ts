import { StoreError } from "../core/errors.ts";

/** HTTP statuses about the key, billing, permissions or the model's name. Every other request would be refused too. */
export const OF_ACCOUNT: readonly number[] = [401, 402, 403, 404];

/** Returns true if an error is about the key, the account or the settings, so that any request would fail. */
export function isOfAccount(error: unknown): boolean {
  if (StoreError.is(error, "EMBEDDER_MISMATCH")) return true;
  if (!StoreError.is(error, "MODEL_REFUSED")) return false;
  const { details } = error;
  return details.concerns !== undefined || OF_ACCOUNT.includes(details.status ?? 0);
}
