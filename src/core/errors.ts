import { type RawShape, wayOf } from "./raw-shape.ts";

/**
 * The details of each error that this library throws on purpose.
 *
 * Programs switch on `code`, people read `message`, and `hint` says how to fix the problem. Codes are public API: add new ones
 * freely, but never rename or reuse one.
 */
export interface ErrorDetails {
  /** `fix` says how to get what is expected. */
  OPTION_INVALID: { option: string; expected: string; actual: unknown; fix?: string };
  MESSAGE_INVALID: { path: string; reason: string; shape?: RawShape };
  MESSAGE_CONFLICT: { sessionId: string; externalId: string; messageId: number; isForgotten?: boolean };
  MESSAGE_NOT_FOUND: { messageId: number };
  /** An entry or an item cannot be stored. The reason quotes no part of its value. */
  VALUE_INVALID: { path: string; reason: string };
  /** A call that cannot be undone was made inside `store.atomically`. */
  NOT_ATOMIC: { operation: string };
  /** A function that the caller gave to the store called a method that writes, before it returned. */
  WRITE_NESTED: { operation: string; within: string };
  SESSION_NOT_FOUND: { sessionId: string };
  SESSION_CONFLICT: { sessionId: string; field: string; stored: unknown; given: unknown };
  SESSION_CHANGED: { sessionId: string; seqExpected: number; seqFound: number };
  SESSION_SUPERSEDED: { sessionId: string; parentSessionId: string };
  /** The call would change messages that a fork shares, or move the rows of a fork. */
  SESSION_SHARED: { sessionId: string; forkId: string; operation: "rewind" | "forget" | "change" | "move" };
  HANDLE_INVALID: { handle: string; reason: string };
  ROOT_NOT_FOUND: { handle: string };
  BUDGET_TOO_SMALL: { tokensMax: number; tokensNeeded: number; strategy?: "full" };
  /** `isReplaced`: its file was deleted, moved or replaced while it was open. */
  STORE_CLOSED: { path: string; isReplaced?: true };
  STORE_READONLY: { path: string; operation: string };
  STORE_BUSY: { path: string };
  STORE_CORRUPT: { path: string; reason: string };
  FILE_NOT_FOUND: { path: string; folder?: string };
  FILE_EXISTS: { path: string };
  FILE_NOT_USABLE: { path: string; reason: string; fix?: string };
  NOT_A_STORE: { path: string; reason: string };
  /** A store, exported rows, or the tables of a hub have a format that is not known here. */
  /** `old` says which side is to be upgraded, `known` is the version of this client, and `clientMin` the lowest that the hub admits. */
  FORMAT_UNSUPPORTED:
    | { path: string; reason: string }
    | { hub: string; version: number; clientMin: number; known: number; old: "client" | "hub" };
  EMBEDDER_MISMATCH: { stored: string; given: string };
  VECTOR_INVALID: { reason: string; expected: number; actual: number };
  QUERY_REFUSED: { reason: string };
  QUERY_EMPTY: Record<string, never>;
  IMPORT_UNREADABLE: { path: string; reason: string };
  /**
   * `concerns` is set if every other request would fail too: the key, the model's name or the account was refused, or there is no
   * key, which is read from `variable`.
   */
  MODEL_REFUSED:
    | { model: string; reason: string; status?: number; concerns?: "account" }
    | { model: string; concerns: "key"; variable?: string };
  MODEL_UNAVAILABLE: { model: string; reason: string; status?: number; retryAfterMs?: number };
  MODEL_ANSWER_INVALID: { model: string; reason: string };
  REDACT_FAILED: { reason: string };
  /** `hub` is the server and its database, without user and password. */
  HUB_UNREACHABLE: { hub: string; reason: string };
  /** `solution`: what to do, if it is not about rights. */
  HUB_REFUSED: { hub: string; reason: string; solution?: string };
  /** Nothing was sent. `found` is what is wrong with the certificate, or how the hub asks for the password. */
  HUB_UNSAFE: { hub: string } & (
    | { reason: "no TLS" | "other name" }
    | { reason: "untrusted" | "password"; found: string }
  );
  /** `another`: another hub took its place, or another one was named, while it was asked. Lengths are counts of events. */
  HUB_CHANGED: { hub: string } & (
    | { reason: "another" }
    | { reason: "gone back"; schema: string; sessionId: string; found: number; noted: number }
  );
  HUB_NOT_READY: { hub: string; command: string };
  /** `user` is what needs the package. `reason` is why it cannot be loaded although it is installed, and `solution` its remedy. */
  PACKAGE_MISSING: { package: string; user: string; reason?: string; solution?: string };
  /** `holder` is the session that has what is taken; null if it is forgotten. */
  ID_TAKEN: { sessionId: string; what: string; holder: string | null };
  SESSION_DIVERGED: { sessionId: string; what: string };
  /** The session is a copy from a hub, which is only read here. */
  SESSION_COPIED: { sessionId: string; author: string };
  SESSION_FORGOTTEN: { sessionId: string };
  ROWS_INVALID: { reason: string; path?: string; line?: number };
}

export type ErrorCode = keyof ErrorDetails;

interface ErrorText {
  message: string;
  hint?: string;
}

const TEXT: { [C in ErrorCode]: (details: ErrorDetails[C]) => ErrorText } = {
  OPTION_INVALID: ({ option, expected, actual, fix }) => ({
    message: `Expected ${option} to be ${expected}, got ${show(actual)}.`,
    ...(fix !== undefined && { hint: fix }),
  }),
  MESSAGE_INVALID: ({ path, reason, shape }) => ({
    message: `The message cannot be stored as it is: ${path}: ${reason}.`,
    hint:
      shape === undefined
        ? "Nothing was written. Change the named field and append the message again."
        : `Nothing was written. This looks like ${wayOf(shape)}.`,
  }),
  MESSAGE_CONFLICT: ({ sessionId, externalId, messageId, isForgotten = false }) => ({
    message: `Session "${sessionId}" ${isForgotten ? "has forgotten" : "already holds"} a different message under the id "${externalId}" (message ${messageId}).`,
    hint: isForgotten
      ? "An id is not used again for other content. Append the new version under another id, or call `restore` first."
      : "Stored messages are never altered. Append the new version under another id.",
  }),
  MESSAGE_NOT_FOUND: ({ messageId }) => ({
    message: `No message with id ${messageId}.`,
    hint: "Use an id that `append` or `messages` returned. The seq of a message is not its id.",
  }),
  VALUE_INVALID: ({ path, reason }) => ({
    message: `The value cannot be stored as it is: ${path}: ${reason}.`,
    hint: "Nothing was written. Store JSON, or bytes as a Uint8Array in an item.",
  }),
  NOT_ATOMIC: ({ operation }) => ({
    message: `${operation} cannot run inside \`store.atomically\`.`,
    hint: "Call it before or after. The work may append, write entries and items, and read them, without awaiting anything.",
  }),
  WRITE_NESTED: ({ operation, within }) => ({
    message: `${operation} cannot write to the store from within ${within}, which the store itself has called.`,
    hint: "Nothing was written. Such a function may read the store. Let it return, and write afterwards.",
  }),
  SESSION_NOT_FOUND: ({ sessionId }) => ({
    message: `No session with id "${sessionId}".`,
    hint: "List the sessions with `store.sessions()`, or create this one with `store.session(id)`.",
  }),
  SESSION_CONFLICT: ({ sessionId, field, stored, given }) => ({
    message: `Session "${sessionId}" has ${field} ${show(stored)}, not ${show(given)}.`,
    hint: `Leave \`${field}\` out to resume the session as it is, or use another session id.`,
  }),
  SESSION_CHANGED: ({ sessionId, seqExpected, seqFound }) => ({
    message: `Another writer has appended to session "${sessionId}": expected its next seq to be ${seqExpected}, found ${seqFound}.`,
    hint: "Read the new messages with `session.messages()`, then decide whether to append.",
  }),
  SESSION_SUPERSEDED: ({ sessionId, parentSessionId }) => ({
    message: `"${sessionId}" holds messages that session "${parentSessionId}" has superseded. It is no session of its own.`,
    hint: `Open session "${parentSessionId}". \`expand\` shows its superseded messages, and \`undo\` brings them back. \`forget\` with \`messageIds\` deletes them.`,
  }),
  SESSION_SHARED: ({ sessionId, forkId, operation }) => {
    const { consequence, hint } = {
      rewind: {
        consequence: `"${sessionId}" cannot go back to before them`,
        hint: `Fork "${sessionId}" at an earlier message, and continue there.`,
      },
      forget: {
        consequence: "they cannot be forgotten in one of the two",
        hint: `Forget "${forkId}" first, or both with \`related\` (\`coppice forget --related\`).`,
      },
      change: {
        consequence: "they cannot be changed",
        hint: `Append the new version, or forget "${forkId}" first.`,
      },
      move: {
        consequence: "its rows cannot move without them",
        hint: `Move "${forkId}" by an export without rows, and name the sessions whose rows are to move.`,
      },
    }[operation];
    const message = `Session "${forkId}" is a fork that shares messages of session "${sessionId}", so ${consequence}.`;
    return { message, hint };
  },
  HANDLE_INVALID: ({ handle, reason }) => ({
    message: `"${handle}" is not a handle: ${reason}.`,
    hint: "A handle looks like `cluster:123`, `theme:123@456`, `subject:77@460` or `span:12@480`; a bare number is a message id.",
  }),
  ROOT_NOT_FOUND: ({ handle }) => ({
    message: handle.startsWith("span:")
      ? `The first or the last message of "${handle}" is not stored, or the two are not of one session.`
      : `There was never a root at "${handle}".`,
    hint: "List the roots of a session with `session.roots()` or `coppice forest <session>`, and subjects with `coppice subjects`.",
  }),
  BUDGET_TOO_SMALL: ({ tokensMax, tokensNeeded, strategy }) => ({
    message: `A context of ${tokensMax} tokens cannot hold ${strategy === "full" ? "every message" : "the pinned messages and the newest step"}: they need ${tokensNeeded}.`,
    hint: `Render with tokensMax of at least ${tokensNeeded}, or ${strategy === "full" ? "with another strategy" : "pin less"}.`,
  }),
  STORE_CLOSED: ({ path, isReplaced = false }) =>
    isReplaced
      ? {
          message: `${path} was deleted, moved or replaced while the store was open.`,
          hint: "Nothing was written. Put the file back with its `-wal` beside it, or close the store and open it again.",
        }
      : { message: `The store ${path} is closed.`, hint: "Open it again with `openStore`." },
  STORE_READONLY: ({ path, operation }) => ({
    message: `The store ${path} was opened read-only, so ${operation} cannot write to it.`,
    hint: "Open it without `readonly` to write.",
  }),
  STORE_BUSY: ({ path }) => ({
    message: `Another process holds the store ${path} locked.`,
    hint: "Nothing was written. Try again, or raise `busyTimeoutMs`.",
  }),
  STORE_CORRUPT: ({ path, reason }) => ({
    message: `The store ${path} is damaged: ${reason}.`,
    hint: "`coppice verify --rebuild` restores derived rows. For everything else, restore a backup: `coppice restore FILE`.",
  }),
  FILE_NOT_FOUND: ({ path, folder }) =>
    folder === undefined
      ? { message: `There is no file ${path}.`, hint: "Check the path." }
      : { message: `There is no folder ${folder} for ${path}.`, hint: "Make the folder, or check the path." },
  FILE_EXISTS: ({ path }) => ({
    message: `There is already a file ${path}.`,
    hint: "Nothing was written. Give another path, or set `overwrite`.",
  }),
  FILE_NOT_USABLE: ({ path, reason, fix }) => ({
    message: `Cannot use ${path}: ${reason}.`,
    ...(fix !== undefined && { hint: fix }),
  }),
  NOT_A_STORE: ({ path, reason }) => ({
    message: `${path} is not a Coppice store: ${reason}.`,
    hint: "Give the path of a store, or of a file that does not exist yet.",
  }),
  FORMAT_UNSUPPORTED: (found) =>
    "hub" in found
      ? {
          message: `The hub ${found.hub} has version ${found.version} and admits clients from version ${found.clientMin} on. This client has version ${found.known}, and works with hubs from ${found.known - 1} to ${found.known + 1}.`,
          hint:
            found.old === "client"
              ? "Nothing was changed. Install a newer Coppice here."
              : "Nothing was changed. The administrator of the hub upgrades it with a newer Coppice: `coppice hub init --team T`.",
        }
      : {
          message: `The store ${found.path} has a format that this version cannot read: ${found.reason}.`,
          hint: "Open it with the version that wrote it, or with a newer one. The file was not changed.",
        },
  EMBEDDER_MISMATCH: ({ stored, given }) => ({
    message: `This store's forest was grown with the embedder "${stored}"; it was opened with "${given}".`,
    hint: "Vectors of different embedders cannot be compared. Open the store with its own embedder, or change the embedder with `coppice reembed`.",
  }),
  VECTOR_INVALID: ({ reason, expected, actual }) => ({
    message: `The vector cannot be used: ${reason} (expected ${expected}, got ${actual}).`,
  }),
  QUERY_REFUSED: ({ reason }) => ({
    message: `The query was refused: ${reason}.`,
    hint: "Only one statement that reads is allowed: SELECT, WITH, VALUES or EXPLAIN.",
  }),
  QUERY_EMPTY: () => ({
    message: "The query is empty.",
    hint: "Give the words to look for. A phrase in double quotes is looked for exactly.",
  }),
  IMPORT_UNREADABLE: ({ path, reason }) => ({ message: `Cannot import ${path}: ${reason}.` }),
  MODEL_REFUSED: (refusal) =>
    refusal.concerns === "key"
      ? {
          message: `There is no key for ${refusal.model}.`,
          hint: `Pass \`apiKey\`${refusal.variable === undefined ? "" : `, or set ${refusal.variable}`}. Nothing was sent.`,
        }
      : {
          message: `${refusal.model} refused the request${inBrackets(refusal.status)}: ${refusal.reason}.`,
          hint: "The same request will be refused again. Check the key, the model's name and the texts that were sent.",
        },
  MODEL_UNAVAILABLE: ({ model, reason, status, retryAfterMs }) => ({
    message: `${model} did not answer${inBrackets(status)}: ${reason}.`,
    hint: retryAfterMs === undefined ? "Try again later." : `Try again in ${Math.ceil(retryAfterMs / 1_000)} seconds.`,
  }),
  MODEL_ANSWER_INVALID: ({ model, reason }) => ({
    message: `The answer of ${model} cannot be used: ${reason}.`,
    hint: "Try again: the model may answer differently.",
  }),
  REDACT_FAILED: ({ reason }) => ({
    message: `The \`redact\` hook failed: ${reason}.`,
    hint: "Nothing was sent. The hook must take a text and return the text that may leave the machine.",
  }),
  HUB_UNREACHABLE: ({ hub, reason }) => ({
    message: `The hub ${hub} does not answer: ${reason}.`,
    hint: "The store works without it. What was acknowledged is there; push again later.",
  }),
  HUB_REFUSED: ({ hub, reason, solution }) => ({
    message: `The hub ${hub} refused: ${reason}.`,
    hint: solution ?? "Check the user, the password and the team: `coppice hub grant <role> --team T` gives rights.",
  }),
  HUB_CHANGED: (details) => {
    const { hub } = details;
    if (details.reason === "another") {
      const message = `The hub ${hub} is no longer the one that was asked: another took its place, or this store went over to another.`;
      return { message, hint: "Run the command again." };
    }
    const { schema, sessionId, found, noted } = details;
    return {
      message: `The hub ${hub} has gone back to an earlier time, as after a backup was restored: session "${sessionId}" has ${found} events there, and had ${noted}.`,
      hint: `Nothing was deleted here. An administrator tells all stores that it is another hub: \`UPDATE ${schema}.hub SET id = gen_random_uuid()\`. Then each push sends what it lacks.`,
    };
  },
  HUB_UNSAFE: (details) => {
    const { hub } = details;
    switch (details.reason) {
      case "no TLS":
        return {
          message: `The hub ${hub} does not encrypt connections.`,
          hint: "Nothing was sent. Its administrator turns TLS on. If nobody can listen on the way to it, add sslmode=disable to the URL.",
        };
      case "untrusted":
        return {
          message: `The certificate of the hub ${hub} is not trusted: ${details.found}.`,
          hint: "Nothing was sent. Get the certificate of its authority from the administrator, and add sslrootcert=/path/to/it.pem to the URL.",
        };
      case "other name":
        return {
          message: `The certificate of the hub ${hub} is for another name.`,
          hint: "Nothing was sent. Put the name in the certificate into the URL, or ask the administrator for a certificate with this name.",
        };
      case "password":
        return {
          message: `The hub ${hub} wants the password ${details.found}, and the connection is not encrypted.`,
          hint: "The password was not sent. Use TLS, or let the administrator set scram-sha-256 in pg_hba.conf.",
        };
    }
  },
  HUB_NOT_READY: ({ hub, command }) => ({
    message: `The database ${hub} lacks tables that this version needs.`,
    hint: `An administrator of the database runs \`${command}\` once.`,
  }),
  PACKAGE_MISSING: ({ package: name, user, reason, solution }) =>
    reason === undefined
      ? {
          message: `${user} needs the package \`${name}\`, which is not installed.`,
          hint: `Run \`npm install ${name}\`, with -g if Coppice was installed so.`,
        }
      : {
          message: `${user} needs the package \`${name}\`, which cannot be loaded here: ${reason}.`,
          hint:
            solution ??
            `npm skipped its install script, or ran it for another Node. For a global installation: \`npm rebuild -g --allow-scripts=${name} ${name}\`. In a project: \`npm rebuild ${name}\`, and with npm 12 \`npm install-scripts approve ${name}\` before it.`,
        },
  ID_TAKEN: ({ sessionId, what, holder }) => ({
    message: `Session "${sessionId}" cannot be taken into this store, because ${what} ${holder === null ? "was given to a message that is forgotten" : `belongs to session "${holder}"`}.`,
    hint: "Import the rows into a new file. Sessions that begin after `coppice export --rows --own-ids`, run once where they come from, do not collide.",
  }),
  SESSION_DIVERGED: ({ sessionId, what }) => ({
    message: `Session "${sessionId}" has gone on in this store and elsewhere: only this store has ${what}.`,
    hint: `Nothing was written. Rows of a file can be imported into a new store. From a hub, \`coppice hub pull ${sessionId} --fork\` keeps both: what is here becomes a session of its own.`,
  }),
  SESSION_COPIED: ({ sessionId, author }) => ({
    message: `Session "${sessionId}" is a copy of one by ${author}, which is only read here.`,
    hint: `To go on with it here, take it: \`coppice hub pull ${sessionId} --take\`. To go on beside it: \`coppice fork ${sessionId}\`.`,
  }),
  SESSION_FORGOTTEN: ({ sessionId }) => ({
    message: `Session "${sessionId}" was forgotten in this store.`,
    hint: `To let it come back, call \`store.restore("${sessionId}")\`, or run \`coppice forget ${sessionId} --restore\`.`,
  }),
  ROWS_INVALID: ({ reason, path, line }) => ({
    message: `These are not the rows of a session${path === undefined ? "" : `: ${path}${line === undefined ? "" : `:${line}`}`}: ${reason}.`,
    hint: "Nothing was written of it. If it is a file, write it again with `coppice export --rows`; if it is on a hub, push it again.",
  }),
};

export class StoreError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = "StoreError";
  readonly code: C;
  readonly details: ErrorDetails[C];
  readonly hint: string | undefined;

  constructor(code: C, details: ErrorDetails[C], options?: { cause: unknown }) {
    const { message, hint } = TEXT[code](shortened(details));
    super(message, options);
    this.code = code;
    this.details = details;
    this.hint = hint;
  }

  /** Returns true for a StoreError; with `code`, only for one with this code: `StoreError.is(error, "SESSION_NOT_FOUND")`. */
  static is<C extends ErrorCode = ErrorCode>(error: unknown, code?: C): error is StoreError<C> {
    return error instanceof StoreError && (code === undefined || error.code === code);
  }
}

/** Returns what `read` returns; undefined if it throws an error with one of these codes. */
export function unless<T>(codes: readonly ErrorCode[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (StoreError.is(error) && codes.includes(error.code)) return undefined;
    throw error;
  }
}

/** The most characters of a text that an error message quotes. `details` has the whole text. */
const QUOTED_CHARS_MAX = 1_000;

function shortened<D extends object>(details: D): D {
  const cut = (value: unknown): unknown =>
    typeof value === "string" && value.length > QUOTED_CHARS_MAX ? `${value.slice(0, QUOTED_CHARS_MAX - 3)}...` : value;
  return Object.fromEntries(Object.entries(details).map(([name, value]) => [name, cut(value)])) as D;
}

function inBrackets(status: number | undefined): string {
  return status === undefined ? "" : ` (${status})`;
}

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  let text: string;
  try {
    text =
      JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? String(item) : item)) ?? String(value);
  } catch {
    text = "a value that JSON cannot express"; // a cycle, or a getter that throws
  }
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
