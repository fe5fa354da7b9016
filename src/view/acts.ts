import { createHmac, randomBytes } from "node:crypto";
import type { ForgetAnswer } from "./api.ts";
import { RefusedRequest } from "./refusal.ts";
import type { ViewStore } from "./view-store.ts";

/**
 * Forgets messages in two requests. The first returns what would be deleted, with a code. The second sends this code to confirm,
 * and is refused if something else would be deleted by then.
 */
export class Forgetting {
  readonly #view: ViewStore;
  readonly #key = randomBytes(16);

  constructor(view: ViewStore) {
    this.#view = view;
  }

  forget(session: string, messageIds: readonly number[] | undefined, confirm: string | undefined): ForgetAnswer {
    const options = messageIds === undefined ? {} : { messageIds };
    return this.#view.write("forget", (store) => {
      const preview = store.forget(session, { ...options, dryRun: true });
      const code = createHmac("sha256", this.#key)
        .update(JSON.stringify([session, messageIds ?? null, preview]))
        .digest("base64url")
        .slice(0, 22);
      if (confirm === undefined) return { ...preview, confirm: code };
      if (confirm !== code) {
        throw new RefusedRequest(
          409,
          "CHANGED",
          "This would now delete something else. Look at it again, then confirm.",
        );
      }
      return { ...store.forget(session, options), confirm: null };
    });
  }
}
