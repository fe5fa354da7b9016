import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { KEY_CHARS_MAX, NAMESPACE_ELEMENTS_MAX, PAGE_LIMIT_MAX, VALUE_BYTES_MAX } from "../core/limits.ts";
import { once } from "../core/once.ts";
import { type FieldsOf, identifier, listOf, parseOptions, parseValue, trueOrFalse, whole } from "../core/schema.ts";
import {
  deleteItem,
  deleteItems,
  encodeValue,
  type Item,
  type NewItem,
  putItem,
  type Repositories,
  restoreItem,
} from "../store/index.ts";
import { plainValue } from "./entries.ts";

/** Comparisons with a field. Values of different types are unequal, and neither is greater. */
export interface FieldFilter {
  $eq?: unknown;
  $ne?: unknown;
  $gt?: number | string;
  $gte?: number | string;
  $lt?: number | string;
  $lte?: number | string;
}

/** The conditions for fields of a JSON object, by name: a value, or comparisons. All of them must hold. */
export type ItemFilter = Readonly<Record<string, unknown>>;

export interface PutItemOptions {
  /** The id of a session that the item belongs to: `forget` of the session deletes the item. */
  session?: string;
}

export interface ListItemsOptions {
  filter?: ItemFilter;
  /** The most items to return: 0 to 10,000 (the default). */
  limit?: number;
  offset?: number;
  /** True to begin with the last namespace and key. */
  descending?: boolean;
}

export interface ListNamespacesOptions {
  /** The first elements, by default any. */
  prefix?: readonly string[];
  /** The last elements, by default any. */
  suffix?: readonly string[];
  /** Cuts longer namespaces to this many elements. Each is returned once. */
  maxDepth?: number;
  limit?: number;
  offset?: number;
}

/**
 * Values of your program by namespace and key: state, settings, operations that were done. A value is plain JSON or bytes, and is
 * returned as it was written. Items are not searched or shown in contexts. A namespace is a list of texts. It may be empty, and
 * so may its elements and the key.
 */
export interface Items {
  /**
   * Stores a value, and replaces the one that was there.
   *
   * @throws {StoreError} `VALUE_INVALID`, `OPTION_INVALID`, `SESSION_NOT_FOUND`, and the errors of `append` that are about the store.
   */
  put(namespace: readonly string[], key: string, value: unknown, options?: PutItemOptions): void;

  get(namespace: readonly string[], key: string): Item | undefined;

  /** @returns false if there was none. */
  delete(namespace: readonly string[], key: string): boolean;

  /** Deletes every item whose namespace begins with these elements. @returns how many there were. */
  deleteAll(prefix: readonly string[]): number;

  /** Returns the items whose namespace begins with these elements, by namespace and key, in order of code points. */
  list(prefix: readonly string[], options?: ListItemsOptions): Item[];

  /** Returns the namespaces that have items. */
  namespaces(options?: ListNamespacesOptions): string[][];
}

const KEY = once(() => {
  const error = { error: `a text of at most ${KEY_CHARS_MAX} characters without half of a surrogate pair` };
  const isStorable = (value: string) => value.length <= KEY_CHARS_MAX && value.isWellFormed();
  return z.string(error).check(z.refine(isStorable, error));
});

const NAMESPACE = once(() => {
  const error = { error: `a list of at most ${NAMESPACE_ELEMENTS_MAX} texts` };
  return listOf(KEY()).check(z.refine((list) => list.length <= NAMESPACE_ELEMENTS_MAX, error));
});

const FILTER = once(() =>
  z.custom<ItemFilter>((value) => typeof value === "object" && value !== null && !Array.isArray(value), {
    error: "an object with the names of fields",
  }),
);

const PUT_OPTIONS = once(() =>
  z.strictObject({ session: z.optional(identifier()) } satisfies FieldsOf<PutItemOptions>),
);

const PAGE = once(() => ({
  limit: z._default(whole(0, PAGE_LIMIT_MAX), PAGE_LIMIT_MAX),
  offset: z._default(whole(0), 0),
}));

const LIST_OPTIONS = once(() =>
  z.strictObject({
    filter: z.optional(FILTER()),
    descending: z._default(trueOrFalse(), false),
    ...PAGE(),
  } satisfies FieldsOf<ListItemsOptions>),
);

const NAMESPACES_OPTIONS = once(() =>
  z.strictObject({
    prefix: z._default(NAMESPACE(), []),
    suffix: z._default(NAMESPACE(), []),
    maxDepth: z.optional(whole(0)),
    ...PAGE(),
  } satisfies FieldsOf<ListNamespacesOptions>),
);

export class StoreItems implements Items {
  readonly #repositories: Repositories;
  readonly #clock: Clock;

  constructor({ repositories, clock }: { repositories: Repositories; clock: Clock }) {
    this.#repositories = repositories;
    this.#clock = clock;
  }

  put(namespace: readonly string[], key: string, value: unknown, options: PutItemOptions = {}): void {
    const { session } = parseOptions("items.put", PUT_OPTIONS(), options);
    putItem(this.#repositories, this.#rowOf(namespace, key, value, session, this.#clock()));
  }

  /** Stores an item of another store. @returns the item that is here under its name, which then stays. */
  restore({ namespace, key, value, session, createdAtMs, updatedAtMs }: Item): Item | undefined {
    const row = this.#rowOf(namespace, key, value, session, updatedAtMs);
    return restoreItem(this.#repositories, row, createdAtMs) ? undefined : this.get(namespace, key);
  }

  #rowOf(
    namespace: readonly string[],
    key: string,
    value: unknown,
    session: string | undefined,
    writtenAtMs: number,
  ): NewItem {
    return {
      namespace: JSON.stringify(parsedNamespace(namespace)),
      key: parsedKey(key),
      sessionId: session ?? null,
      writtenAtMs,
      ...encodeValue(value instanceof Uint8Array ? checkedBytes(value) : plainValue(value, "value")),
    };
  }

  get(namespace: readonly string[], key: string): Item | undefined {
    const { database, items } = this.#repositories;
    const [elements, name] = [parsedNamespace(namespace), parsedKey(key)];
    return database.read(() => items.byKey(elements, name));
  }

  delete(namespace: readonly string[], key: string): boolean {
    return deleteItem(this.#repositories, parsedNamespace(namespace), parsedKey(key));
  }

  deleteAll(prefix: readonly string[]): number {
    return deleteItems(this.#repositories, parsedNamespace(prefix));
  }

  list(prefix: readonly string[], options: ListItemsOptions = {}): Item[] {
    const { filter, limit, offset, descending } = parseOptions("items.list", LIST_OPTIONS(), options);
    const { database, items } = this.#repositories;
    const elements = parsedNamespace(prefix);
    const accepts = filter && filterOf(filter);
    return database.read(() => {
      if (accepts === undefined) {
        return items.ids(elements, { limit, offset, descending }).map((id) => items.byId(id));
      }
      const found: Item[] = [];
      let skipped = 0;
      for (const id of items.ids(elements, { limit: -1, offset: 0, descending })) {
        if (found.length === limit) break;
        const item = items.byId(id);
        if (!accepts(item.value)) continue;
        if (skipped < offset) skipped += 1;
        else found.push(item);
      }
      return found;
    });
  }

  namespaces(options: ListNamespacesOptions = {}): string[][] {
    const { prefix, suffix, maxDepth, limit, offset } = parseOptions("items.namespaces", NAMESPACES_OPTIONS(), options);
    const { database, items } = this.#repositories;
    const found = database
      .read(() => items.namespaces(prefix))
      .filter((namespace) => suffix.length === 0 || isDeepStrictEqual(namespace.slice(-suffix.length), suffix))
      .map((namespace) => namespace.slice(0, maxDepth));
    const once = new Map(found.map((namespace) => [JSON.stringify(namespace), namespace]));
    return [...once.values()].slice(offset, offset + limit);
  }
}

function parsedNamespace(namespace: readonly string[]): readonly string[] {
  return parseValue("namespace", NAMESPACE(), namespace);
}

function parsedKey(key: string): string {
  return parseValue("key", KEY(), key);
}

function checkedBytes(value: Uint8Array): Uint8Array {
  if (value.byteLength <= VALUE_BYTES_MAX) return value;
  const reason = `${value.byteLength} bytes; an item has at most ${VALUE_BYTES_MAX}`;
  throw new StoreError("VALUE_INVALID", { path: "value", reason });
}

const COMPARISONS: Readonly<Record<keyof FieldFilter, (field: unknown, given: unknown) => boolean>> = {
  $eq: isDeepStrictEqual,
  $ne: (field, given) => !isDeepStrictEqual(field, given),
  $gt: (field, given) => ordered(field, given, (order) => order > 0),
  $gte: (field, given) => ordered(field, given, (order) => order >= 0),
  $lt: (field, given) => ordered(field, given, (order) => order < 0),
  $lte: (field, given) => ordered(field, given, (order) => order <= 0),
};

function ordered(field: unknown, given: unknown, isWanted: (order: number) => boolean): boolean {
  if (typeof field === "number" && typeof given === "number") return isWanted(field - given);
  if (typeof field !== "string" || typeof given !== "string") return false;
  return isWanted(Buffer.compare(Buffer.from(field), Buffer.from(given))); // UTF-8 is in order of code points
}

/** @throws {StoreError} `OPTION_INVALID` for an unknown comparison. */
function filterOf(filter: ItemFilter): (value: unknown) => boolean {
  const fields = Object.entries(filter).map(([name, wanted]) => ({ name, accepts: comparisonOf(name, wanted) }));
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Uint8Array)
      return false;
    const fieldOf = (name: string) =>
      Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    return fields.every(({ name, accepts }) => accepts(fieldOf(name)));
  };
}

function comparisonOf(name: string, wanted: unknown): (field: unknown) => boolean {
  const isObject = typeof wanted === "object" && wanted !== null && !Array.isArray(wanted);
  const given = isObject ? Object.entries(wanted) : [];
  if (!given.some(([operator]) => operator.startsWith("$"))) return (field) => isDeepStrictEqual(field, wanted);
  const comparisons = given.map(([operator, operand]) => {
    const compare = Object.hasOwn(COMPARISONS, operator) && COMPARISONS[operator as keyof FieldFilter];
    if (compare) return (field: unknown) => compare(field, operand);
    const expected = `comparisons with ${Object.keys(COMPARISONS).join(", ")}`;
    throw new StoreError("OPTION_INVALID", { option: `filter.${name}`, expected, actual: operator });
  });
  return (field) => comparisons.every((accepts) => accepts(field));
}
