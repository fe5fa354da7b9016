import { type ErrorCode, StoreError } from "../core/errors.ts";
import { visibleText } from "../core/markup.ts";
import type { Refusal } from "./api.ts";

/** A request that is not answered. */
export class RefusedRequest extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Other errors of the store have status 400, because the request asked for something impossible. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  SESSION_NOT_FOUND: 404,
  MESSAGE_NOT_FOUND: 404,
  ROOT_NOT_FOUND: 404,
  FILE_NOT_FOUND: 404,
  STORE_READONLY: 403,
  STORE_BUSY: 503,
  STORE_CLOSED: 503,
  FILE_NOT_USABLE: 503,
  STORE_CORRUPT: 500,
};

/** Returns the status and the JSON of an error. Only errors that this program throws on purpose are shown. */
export function refusalOf(error: unknown): { status: number; body: Refusal } {
  if (error instanceof RefusedRequest) {
    const { status, code, message } = error;
    return { status, body: { error: { code, message } } };
  }
  if (StoreError.is(error)) {
    const { code, message, hint } = error as StoreError;
    const isForPeople = hint !== undefined && !/\w\(/.test(hint); // most hints name a method to call
    return {
      status: STATUS[code] ?? 400,
      body: { error: { code, message: isForPeople ? `${message} ${hint}` : message } },
    };
  }
  return {
    status: 500,
    body: { error: { code: "INTERNAL", message: "The server failed. Its terminal has the error." } },
  };
}

/** Writes an error that nobody foresaw to the terminal. */
export function reportFailure(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`coppice view: ${visibleText(text)}\n`);
}
