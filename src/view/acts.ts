import { createHmac, randomBytes } from "node:crypto";
import type { ForgetAnswer } from "./api.ts";
import { RefusedRequest } from "./refusal.ts";
import type { ViewStore } from "./view-store.ts";

/** Forgetting has two requests: the first says what would go, and the second must name exactly that. */
export class Forgetting {
  readonly #view: ViewStore;
  readonly #key = randomBytes(16);

  constructor(view: ViewStore) {
    this.#view = view;
  }

  forget(session: string, messageIds: readonly number[] | undefined, confirm: string | undefined): ForgetAnswer {
    const options = messageIds === undefined ? {} : { messageIds };
    return this.#view.write("forget", (store) => {
      const asked = store.forget(session, { ...options, dryRun: true });
      const word = createHmac("sha256", this.#key)
        .update(JSON.stringify([session, messageIds ?? null, asked]))
        .digest("base64url")
        .slice(0, 22);
      if (confirm === undefined) return { ...asked, confirm: word };
      if (confirm !== word) {
        throw new RefusedRequest(409, "CHANGED", "What would go is not what you were shown. Look at it again.");
      }
      return { ...store.forget(session, options), confirm: null };
    });
  }
}
