import type { CallToolResult } from "@modelcontextprotocol/server";
import { type ErrorCode, StoreError } from "../core/errors.ts";
import { visibleText } from "../core/markup.ts";

/** `code` is for programs. `message` and `hint` are for models. */
export interface ServerFailure extends Record<string, string> {
  code: ErrorCode | "UNEXPECTED";
  message: string;
  hint: string;
}

/** These replace the library's hints, which address programmers. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  SESSION_NOT_FOUND: "list_sessions lists the sessions.",
  MESSAGE_NOT_FOUND: "recall, expand and get_context return message ids.",
  ROOT_NOT_FOUND: "Use a handle exactly as recall, get_context or list_subjects returned it.",
  OPTION_INVALID: "Nothing was done. Correct the argument and call again.",
  BUDGET_TOO_SMALL: "Call again with a larger tokensMax.",
  FILE_NOT_FOUND:
    "Nothing is stored yet. Ask the user to run `coppice import <path>`, with the same --db as this server if it has one. The server finds the store without a restart.",
  FORMAT_UNSUPPORTED:
    "Tell the user: a newer store or hub needs a newer Coppice. If another version wrote the store, move it away and import the transcripts again, with `coppice watch --once`.",
  STORE_BUSY: "Nothing was written. Call again in a few seconds.",
  STORE_READONLY: "The server was started without --allow-append.",
};

/** Writes a line to the log, which a person may read in a terminal. */
export function report(text: string): void {
  process.stderr.write(`coppice mcp: ${visibleText(text)}\n`);
}

/** Converts any error. An unexpected error goes to stderr, because its message may hold anything. */
export function serverFailure(error: unknown): ServerFailure {
  if (error instanceof StoreError) {
    const { code, message, hint = "" }: StoreError = error;
    // A message may quote the query, or an id from a file.
    return { code, message: visibleText(message), hint: HINTS[code] ?? visibleText(hint) };
  }
  report(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return {
    code: "UNEXPECTED",
    message: "The call failed because of a bug in the server.",
    hint: "Its stderr has the details. Another call may succeed.",
  };
}

/**
 * Converts any error to the answer of a call, so that the model can correct the call. Clients check structured content against
 * the result schema, so the error is also in `_meta`.
 */
export function failedCall(error: unknown): CallToolResult {
  const failure = serverFailure(error);
  const text = `${failure.code}: ${failure.message} ${failure.hint}`.trimEnd();
  return { isError: true, content: [{ type: "text", text }], _meta: { "coppice/error": failure } };
}
