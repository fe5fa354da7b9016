import type { AdaptedMessage } from "../adapters/shared/message.ts";
import { StoreError } from "../core/errors.ts";

/** What an adapter makes of one message of a file; or why it refuses it, to be reported. */
export function adapted(translate: () => AdaptedMessage[]): AdaptedMessage[] | string {
  try {
    return translate();
  } catch (error) {
    if (!StoreError.is(error, "MESSAGE_INVALID")) throw error;
    // The adapter was given a list of one: `contents[0].speaker`.
    return `${error.details.path.replace(/^\w+\[0\]\./, "")}: ${error.details.reason}`;
  }
}
