import type { CallToolResult } from "@modelcontextprotocol/server";
import { type ErrorCode, StoreError } from "../core/errors.ts";
import { visibleText } from "../core/markup.ts";

/** What is wrong, for a program, and what to do, for a model. */
export interface ServerFailure extends Record<string, string> {
  code: ErrorCode | "UNEXPECTED";
  message: string;
  hint: string;
}

/** In place of the library's hints, which speak to those who write programs. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  SESSION_NOT_FOUND: "list_sessions names the sessions.",
  MESSAGE_NOT_FOUND: "recall, expand and get_context say the ids of messages.",
  ROOT_NOT_FOUND: "Use a handle as recall, get_context or list_subjects gave it.",
  OPTION_INVALID: "Nothing was done. Correct the argument and call again.",
  BUDGET_TOO_SMALL: "Call again with a larger tokensMax.",
  FILE_NOT_FOUND:
    "Nothing has been stored yet. Ask the user to run `coppice import <path>`, with the same --db as this server if it has one; the store is found then, without a restart.",
  FORMAT_UNSUPPORTED:
    "Tell the user: the next `coppice import` brings an older store up to date; for a newer one, Coppice is to be updated.",
  STORE_BUSY: "Nothing was written. Call again in a few seconds.",
  STORE_READONLY: "The server was started without --allow-append.",
};

/** Where a failed call has its `ServerFailure`. */
export const ERROR_META = "coppice/error";

/** Whatever was thrown. What is not ours is a bug, and its message may hold anything: it goes to stderr, not to the model. */
export function serverFailure(error: unknown): ServerFailure {
  if (error instanceof StoreError) {
    const { code, message, hint = "" }: StoreError = error;
    // A message may quote what was asked for, or an id that somebody else has given.
    return { code, message: visibleText(message), hint: HINTS[code] ?? visibleText(hint) };
  }
  console.error(error);
  return {
    code: "UNEXPECTED",
    message: "The call failed by a bug of the server.",
    hint: "Its stderr says where. Another call may succeed.",
  };
}

/**
 * The same as the answer to a call, so that the model can mend it. Programs find it in `_meta`: clients hold structured
 * content against the schema of results, also that of an error.
 */
export function failedCall(error: unknown): CallToolResult {
  const failure = serverFailure(error);
  const text = `${failure.code}: ${failure.message} ${failure.hint}`.trimEnd();
  return { isError: true, content: [{ type: "text", text }], _meta: { [ERROR_META]: failure } };
}
