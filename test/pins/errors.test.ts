import { expect, test } from "vitest";
import { type ErrorCode, type ErrorDetails, StoreError } from "../../src/core/errors.ts";

// Programs switch on the code, people read the message, whoever mends it reads the hint. Codes are never renamed and never
// used for something else.

type Pin<C extends ErrorCode> = [details: ErrorDetails[C], message: string, hint: string | undefined];

/** The compiler sees to it that no code is missing here and none is too many. */
const PINS: { [C in ErrorCode]: Pin<C> } = {
  OPTION_INVALID: [
    { option: "limit", expected: "a whole number from 0", actual: "x" },
    'Expected limit to be a whole number from 0, got "x".',
    undefined,
  ],
  MESSAGE_INVALID: [
    { path: "parts[0].text", reason: "expected string" },
    "The message cannot be stored as it is: parts[0].text: expected string.",
    "Nothing was written. Change the named field and append the message again.",
  ],
  MESSAGE_CONFLICT: [
    { sessionId: "s", externalId: "m1", messageId: 7 },
    'Session "s" already holds a different message under the id "m1" (message 7).',
    "Stored messages are never altered. Append the new version under another id.",
  ],
  MESSAGE_NOT_FOUND: [
    { messageId: 7 },
    "No message with id 7.",
    "Use an id that `append` or `messages` returned. The seq of a message is not its id.",
  ],
  VALUE_INVALID: [
    { path: "entries[0].value.at", reason: "expected plain JSON, got an instance of Date" },
    "The value cannot be stored as it is: entries[0].value.at: expected plain JSON, got an instance of Date.",
    "Nothing was written. Store JSON, or bytes as a Uint8Array in an item.",
  ],
  NOT_ATOMIC: [
    { operation: "recall" },
    "recall cannot run inside `store.atomically`.",
    "Call it before or after. The work may append, write entries and items, and read them, without awaiting anything.",
  ],
  WRITE_NESTED: [
    { operation: "append", within: "the clock" },
    "append cannot write to the store from within the clock, which the store itself has called.",
    "Nothing was written. Such a function may read the store. Let it return, and write afterwards.",
  ],
  SESSION_NOT_FOUND: [
    { sessionId: "s" },
    'No session with id "s".',
    "List the sessions with `store.sessions()`, or create this one with `store.session(id)`.",
  ],
  SESSION_CONFLICT: [
    { sessionId: "s", field: "project", stored: null, given: "web" },
    'Session "s" has project null, not "web".',
    "Leave `project` out to resume the session as it is, or use another session id.",
  ],
  SESSION_CHANGED: [
    { sessionId: "s", seqExpected: 3, seqFound: 4 },
    'Another writer has appended to session "s": expected its next seq to be 3, found 4.',
    "Read the new messages with `session.messages()`, then decide whether to append.",
  ],
  SESSION_SUPERSEDED: [
    { sessionId: "b", parentSessionId: "s" },
    '"b" holds messages that session "s" has superseded. It is no session of its own.',
    'Open session "s". `expand` shows its superseded messages, and `undo` brings them back. `forget` with `messageIds` deletes them.',
  ],
  SESSION_SHARED: [
    { sessionId: "s", forkId: "f", operation: "forget" },
    'Session "f" is a fork that shares messages of session "s", so they cannot be forgotten in one of the two.',
    'Forget "f" first, or both with `related` (`coppice forget --related`).',
  ],
  HANDLE_INVALID: [
    { handle: "x", reason: "expected a level" },
    '"x" is not a handle: expected a level.',
    "A handle looks like `cluster:123`, `theme:123@456`, `subject:77@460` or `span:12@480`; a bare number is a message id.",
  ],
  ROOT_NOT_FOUND: [
    { handle: "theme:7" },
    'There was never a root at "theme:7".',
    "List the roots of a session with `session.roots()` or `coppice forest <session>`, and subjects with `coppice subjects`.",
  ],
  BUDGET_TOO_SMALL: [
    { tokensMax: 10, tokensNeeded: 20 },
    "A context of 10 tokens cannot hold the pinned messages and the newest step: they need 20.",
    "Render with tokensMax of at least 20, or pin less.",
  ],
  STORE_CLOSED: [{ path: "a.db" }, "The store a.db is closed.", "Open it again with `openStore`."],
  STORE_READONLY: [
    { path: "a.db", operation: "append" },
    "The store a.db was opened read-only, so append cannot write to it.",
    "Open it without `readonly` to write.",
  ],
  STORE_BUSY: [
    { path: "a.db" },
    "Another process holds the store a.db locked.",
    "Nothing was written. Try again, or raise `busyTimeoutMs`.",
  ],
  STORE_CORRUPT: [
    { path: "a.db", reason: "malformed" },
    "The store a.db is damaged: malformed.",
    "`coppice verify --rebuild` restores derived rows. For everything else, restore a backup: `coppice restore FILE`.",
  ],
  FILE_NOT_FOUND: [{ path: "a.db" }, "There is no file a.db.", "Check the path."],
  FILE_EXISTS: [
    { path: "a.db" },
    "There is already a file a.db.",
    "Nothing was written. Give another path, or set `overwrite`.",
  ],
  FILE_NOT_USABLE: [{ path: "a.db", reason: "it is a folder" }, "Cannot use a.db: it is a folder.", undefined],
  NOT_A_STORE: [
    { path: "a.db", reason: "file is not a database" },
    "a.db is not a Coppice store: file is not a database.",
    "Give the path of a store, or of a file that does not exist yet.",
  ],
  FORMAT_UNSUPPORTED: [
    { path: "a.db", reason: "it is newer" },
    "The store a.db has a format that this version cannot read: it is newer.",
    "Open it with the version that wrote it, or with a newer one. The file was not changed.",
  ],
  EMBEDDER_MISMATCH: [
    { stored: "a", given: "b" },
    'This store\'s forest was grown with the embedder "a"; it was opened with "b".',
    "Vectors of different embedders cannot be compared. Open the store with its own embedder, or change the embedder with `coppice reembed`.",
  ],
  VECTOR_INVALID: [
    { reason: "too short", expected: 8, actual: 4 },
    "The vector cannot be used: too short (expected 8, got 4).",
    undefined,
  ],
  QUERY_REFUSED: [
    { reason: "it does not only read" },
    "The query was refused: it does not only read.",
    "Only one statement that reads is allowed: SELECT, WITH, VALUES or EXPLAIN.",
  ],
  QUERY_EMPTY: [
    {},
    "The query is empty.",
    "Give the words to look for. A phrase in double quotes is looked for exactly.",
  ],
  IMPORT_UNREADABLE: [
    { path: "a.jsonl", reason: "no such format" },
    "Cannot import a.jsonl: no such format.",
    undefined,
  ],
  MODEL_REFUSED: [
    { model: "m", reason: "no such model", status: 404 },
    "m refused the request (404): no such model.",
    "The same request will be refused again. Check the key, the model's name and the texts that were sent.",
  ],
  MODEL_UNAVAILABLE: [
    { model: "m", reason: "quota exceeded", status: 429, retryAfterMs: 6_001 },
    "m did not answer (429): quota exceeded.",
    "Try again in 7 seconds.",
  ],
  MODEL_ANSWER_INVALID: [
    { model: "m", reason: "it is not JSON" },
    "The answer of m cannot be used: it is not JSON.",
    "Try again: the model may answer differently.",
  ],
  REDACT_FAILED: [
    { reason: "it threw an error" },
    "The `redact` hook failed: it threw an error.",
    "Nothing was sent. The hook must take a text and return the text that may leave the machine.",
  ],
  HUB_UNREACHABLE: [
    { hub: "h/d", reason: "ECONNREFUSED" },
    "The hub h/d does not answer: ECONNREFUSED.",
    "The store works without it. What was acknowledged is there; push again later.",
  ],
  HUB_REFUSED: [
    { hub: "h/d", reason: "no" },
    "The hub h/d refused: no.",
    "Check the user, the password and the team: `coppice hub grant <role> --team T` gives rights.",
  ],
  HUB_UNSAFE: [
    { hub: "h/d", reason: "no TLS" },
    "The hub h/d does not encrypt connections.",
    "Nothing was sent. Its administrator turns TLS on. If nobody can listen on the way to it, add sslmode=disable to the URL.",
  ],
  HUB_CHANGED: [
    { hub: "h/d", reason: "gone back", schema: "coppice_web", sessionId: "s", found: 60, noted: 100 },
    'The hub h/d has gone back to an earlier time, as after a backup was restored: session "s" has 60 events there, and had 100.',
    "Nothing was deleted here. An administrator tells all stores that it is another hub: `UPDATE coppice_web.hub SET id = gen_random_uuid()`. Then each push sends what it lacks.",
  ],
  HUB_NOT_READY: [
    { hub: "h/d", command: "coppice hub init" },
    "The database h/d lacks tables that this version needs.",
    "An administrator of the database runs `coppice hub init` once.",
  ],
  PACKAGE_MISSING: [
    { package: "pg", user: "The hub" },
    "The hub needs the package `pg`, which is not installed.",
    "Run `npm install pg`, with -g if Coppice was installed so.",
  ],
  ID_TAKEN: [
    { sessionId: "s", what: "message 7", holder: "t" },
    'Session "s" cannot be taken into this store, because message 7 belongs to session "t".',
    "Import the rows into a new file. Sessions that begin after `coppice export --rows --own-ids`, run once where they come from, do not collide.",
  ],
  SESSION_DIVERGED: [
    { sessionId: "s", what: "message 7" },
    'Session "s" has gone on in this store and elsewhere: only this store has message 7.',
    "Nothing was written. Rows of a file can be imported into a new store. From a hub, `coppice hub pull s --fork` keeps both: what is here becomes a session of its own.",
  ],
  SESSION_COPIED: [
    { sessionId: "s", author: "ada" },
    'Session "s" is a copy of one by ada, which is only read here.',
    "To go on with it here, take it: `coppice hub pull s --take`. To go on beside it: `coppice fork s`.",
  ],
  SESSION_FORGOTTEN: [
    { sessionId: "s" },
    'Session "s" was forgotten in this store.',
    'To let it come back, call `store.restore("s")`, or run `coppice forget s --restore`.',
  ],
  ROWS_INVALID: [
    { reason: "it is cut off", path: "moved.rows", line: 7 },
    "These are not the rows of a session: moved.rows:7: it is cut off.",
    "Nothing was written of it. If it is a file, write it again with `coppice export --rows`; if it is on a hub, push it again.",
  ],
};

/** Codes whose message and hint depend on their details. */
const VARIANTS: { [C in ErrorCode]?: Pin<C>[] } = {
  OPTION_INVALID: [
    [
      { option: "the embedder", expected: "one that Coppice has", actual: "a-8", fix: "Name one." },
      'Expected the embedder to be one that Coppice has, got "a-8".',
      "Name one.",
    ],
  ],
  STORE_CLOSED: [
    [
      { path: "a.db", isReplaced: true },
      "a.db was deleted, moved or replaced while the store was open.",
      "Nothing was written. Put the file back with its `-wal` beside it, or close the store and open it again.",
    ],
  ],
  PACKAGE_MISSING: [
    [
      { package: "better-sqlite3", user: "A store", reason: "Could not locate the bindings file" },
      "A store needs the package `better-sqlite3`, which cannot be loaded here: Could not locate the bindings file.",
      "npm skipped its install script, or ran it for another Node. For a global installation: `npm rebuild -g --allow-scripts=better-sqlite3 better-sqlite3`. In a project: `npm rebuild better-sqlite3`, and with npm 12 `npm install-scripts approve better-sqlite3` before it.",
    ],
  ],
  MODEL_REFUSED: [
    [
      { model: "m", concerns: "key", variable: "M_KEY" },
      "There is no key for m.",
      "Pass `apiKey`, or set M_KEY. Nothing was sent.",
    ],
  ],
  HUB_CHANGED: [
    [
      { hub: "h/d", reason: "another" },
      "The hub h/d is no longer the one that was asked: another took its place, or this store went over to another.",
      "Run the command again.",
    ],
  ],
  HUB_UNSAFE: [
    [
      { hub: "h/d", reason: "untrusted", found: "self-signed certificate" },
      "The certificate of the hub h/d is not trusted: self-signed certificate.",
      "Nothing was sent. Get the certificate of its authority from the administrator, and add sslrootcert=/path/to/it.pem to the URL.",
    ],
    [
      { hub: "h/d", reason: "other name" },
      "The certificate of the hub h/d is for another name.",
      "Nothing was sent. Put the name in the certificate into the URL, or ask the administrator for a certificate with this name.",
    ],
    [
      { hub: "h/d", reason: "password", found: "in clear text" },
      "The hub h/d wants the password in clear text, and the connection is not encrypted.",
      "The password was not sent. Use TLS, or let the administrator set scram-sha-256 in pg_hba.conf.",
    ],
  ],
  FORMAT_UNSUPPORTED: [
    [
      { hub: "h/d", version: 5, clientMin: 4, known: 3, old: "client" },
      "The hub h/d has version 5 and admits clients from version 4 on. This client has version 3, and works with hubs from 2 to 4.",
      "Nothing was changed. Install a newer Coppice here.",
    ],
    [
      { hub: "h/d", version: 1, clientMin: 1, known: 3, old: "hub" },
      "The hub h/d has version 1 and admits clients from version 1 on. This client has version 3, and works with hubs from 2 to 4.",
      "Nothing was changed. The administrator of the hub upgrades it with a newer Coppice: `coppice hub init --team T`.",
    ],
  ],
};

const ALL = Object.entries(PINS).flatMap(([code, pin]) =>
  [pin, ...(VARIANTS[code as ErrorCode] ?? [])].map((one) => [code, one] as const),
);

test.each(ALL)("%s", (code, [details, message, hint]) => {
  const cause = new Error("underneath");
  const error = new StoreError(code as ErrorCode, details, { cause });
  expect({ ...error, message: error.message, cause: error.cause }).toEqual({
    name: "StoreError",
    code,
    details,
    hint,
    message,
    cause,
  });
  expect(StoreError.is(error)).toBe(true);
  expect(StoreError.is(error, code as ErrorCode)).toBe(true);
  expect(StoreError.is(error, code === "STORE_BUSY" ? "STORE_CLOSED" : "STORE_BUSY")).toBe(false);
});

test("nothing else is a StoreError", () => {
  expect(StoreError.is(Object.assign(new Error("x"), { code: "STORE_BUSY" }))).toBe(false);
  expect(StoreError.is(undefined)).toBe(false);
});
