import * as z from "zod/mini";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { plainJson } from "../core/json.ts";
import { MESSAGE_CHARS_MAX, PAGE_LIMIT_MAX } from "../core/limits.ts";
import { once } from "../core/once.ts";
import {
  type FieldsOf,
  identifier,
  listOf,
  oneWordOf,
  parseOptions,
  parseValue,
  trueOrFalse,
  whole,
} from "../core/schema.ts";
import {
  appendEntries,
  type Entry,
  type EntryResult,
  encodeValue,
  type Repositories,
  restoreEntries,
} from "../store/index.ts";

export interface EntryInput {
  /** Plain JSON. It is returned as it was given. */
  value: unknown;
  /** A name of yours. The session holds at most one entry with it. */
  id?: string;
}

export interface AppendEntriesOptions {
  /** Decides about an entry whose id the session holds: by default it is skipped. `replace` keeps the old position. */
  known?: "skip" | "replace";
}

export interface ListEntriesOptions {
  /** The position after which to begin, by default the first entry of the list. For the next page, the position of the last entry. */
  after?: number;
  /** True to begin with the newest entry. */
  descending?: boolean;
  /** The most entries to return: 0 to 10,000 (the default). */
  limit?: number;
}

/**
 * JSON of your program that is in order with the messages of a session, but is no message. It is returned as it was written. It is
 * not searched or shown in contexts. `forget` of the session deletes it.
 */
export interface Entries {
  /**
   * Appends all of these entries in one transaction, or none.
   *
   * @returns the position of each. `appended` is false for an entry whose id the session held.
   * @throws {StoreError} `VALUE_INVALID`, `OPTION_INVALID`, `SESSION_NOT_FOUND`, and the errors of `append` that are about the store.
   */
  append(entries: readonly EntryInput[], options?: AppendEntriesOptions): EntryResult[];

  /** Returns entries in order. */
  list(options?: ListEntriesOptions): Entry[];
}

const ENTRIES = once(() =>
  listOf(z.strictObject({ value: z.unknown(), id: z.optional(identifier()) } satisfies FieldsOf<EntryInput>)),
);

const APPEND_OPTIONS = once(() =>
  z.strictObject({
    known: z._default(oneWordOf(["skip", "replace"]), "skip"),
  } satisfies FieldsOf<AppendEntriesOptions>),
);

const LIST_OPTIONS = once(() =>
  z.strictObject({
    after: z.optional(whole(0)),
    descending: z._default(trueOrFalse(), false),
    limit: z._default(whole(0, PAGE_LIMIT_MAX), PAGE_LIMIT_MAX),
  } satisfies FieldsOf<ListEntriesOptions>),
);

/** An entry of another store, with its place in this one. */
export type RestoredEntry = EntryInput & Pick<Entry, "createdAtMs" | "beforeSeq">;

export class SessionEntries implements Entries {
  readonly #repositories: Repositories;
  readonly #clock: Clock;
  readonly #sessionId: string;
  readonly #assertOwn: () => void;

  /** @param assertOwn  Throws if the session is a copy. */
  constructor(
    { repositories, clock }: { repositories: Repositories; clock: Clock },
    sessionId: string,
    assertOwn: () => void,
  ) {
    this.#repositories = repositories;
    this.#clock = clock;
    this.#sessionId = sessionId;
    this.#assertOwn = assertOwn;
  }

  append(entries: readonly EntryInput[], options: AppendEntriesOptions = {}): EntryResult[] {
    const { known } = parseOptions("entries.append", APPEND_OPTIONS(), options);
    this.#assertOwn();
    const createdAtMs = this.#clock();
    const rows = parseValue("entries", ENTRIES(), entries).map(({ id }, index) => ({
      externalId: id ?? null,
      createdAtMs,
      // The given value, because zod's copy has lost keys named `__proto__`.
      ...encodeValue(plainValue(entries[index]!.value, `entries[${index}].value`)),
    }));
    return appendEntries(this.#repositories, this.#sessionId, rows, known);
  }

  /** Appends entries of another store in their places: see `restoreEntries`. @throws {StoreError} `VALUE_INVALID`. */
  restore(restored: readonly RestoredEntry[], seenAt: Map<number, number>): boolean[] {
    const rows = restored.map(({ id, value, createdAtMs, beforeSeq }) => ({
      ...{ externalId: id ?? null, createdAtMs, beforeSeq },
      ...encodeValue(plainValue(value, "entry")),
    }));
    return restoreEntries(this.#repositories, this.#sessionId, rows, seenAt);
  }

  list(options: ListEntriesOptions = {}): Entry[] {
    const { after, descending, limit } = parseOptions("entries.list", LIST_OPTIONS(), options);
    const { database, entries } = this.#repositories;
    return database.read(() => {
      return descending
        ? entries.before(this.#sessionId, after ?? Number.MAX_SAFE_INTEGER, limit)
        : entries.after(this.#sessionId, after ?? 0, limit);
    });
  }
}

/** Returns a copy of a value that JSON does not change. @throws {StoreError} `VALUE_INVALID`. */
export function plainValue(value: unknown, path: string) {
  return plainJson(value, path, {
    charsLeft: MESSAGE_CHARS_MAX,
    tooLong: `the value is longer than ${MESSAGE_CHARS_MAX} characters`,
    refuse: (at, reason) => {
      throw new StoreError("VALUE_INVALID", { path: at, reason });
    },
  });
}
