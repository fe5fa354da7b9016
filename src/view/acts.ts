import { createHmac } from "node:crypto";
import type { Store } from "../index.ts";
import type { ForgetAnswer } from "./api.ts";
import { RefusedRequest } from "./refusal.ts";

/**
 * Forgets messages in two requests. The first returns what would be deleted, with a code that is made with `key`. The second sends this
 * code to confirm, and is refused if something else would be deleted by then.
 */
export function forgetAnswer(
  store: Store,
  key: Buffer,
  { session, messages, confirm }: { session: string; messages?: readonly number[]; confirm?: string },
): ForgetAnswer {
  const options = messages === undefined ? {} : { messageIds: messages };
  const preview = store.forget(session, { ...options, dryRun: true });
  const code = createHmac("sha256", key)
    .update(JSON.stringify([session, messages ?? null, preview]))
    .digest("base64url")
    .slice(0, 22);
  if (confirm === undefined) return { ...preview, confirm: code };
  if (confirm !== code) {
    const message = "This would now delete something else. Look at it again, then confirm.";
    throw new RefusedRequest(409, "CHANGED", message);
  }
  return { ...store.forget(session, options), confirm: null };
}
