import type { AdaptedMessage } from "../adapters/shared/message.ts";
import { StoreError } from "../core/errors.ts";

/** Returns the messages that an adapter makes, or the reason why it refuses. */
export function adapted(translate: () => AdaptedMessage[]): AdaptedMessage[] | string {
  try {
    return translate();
  } catch (error) {
    if (!StoreError.is(error, "MESSAGE_INVALID")) throw error;
    // The adapter got a list of one, and names `contents[0].speaker`.
    return `${error.details.path.replace(/^\w+\[0\]\./, "")}: ${error.details.reason}`;
  }
}
