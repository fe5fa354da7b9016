import { parseStored } from "../../core/damage.ts";
import { addTo } from "../../core/groups.ts";
import type { JsonValue } from "../../core/json.ts";
import { TAGS } from "../../core/tags.ts";
import { Repository } from "../file/repository.ts";
import { decodeValue } from "../sql/codecs.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

const ITEM = columns(TABLES.items);
const KNOWN = columns(TABLES.items, "id", "createdAtMs");

export type NewItem = Omit<InsertOf<typeof ITEM>, "id" | "createdAtMs">;

/** A value that a program keeps under a namespace and a key. */
export interface Item {
  namespace: string[];
  key: string;
  value: JsonValue | Uint8Array;
  /** The id of the session that the item is forgotten with. */
  session?: string;
  /** Unix milliseconds. */
  createdAtMs: number;
  updatedAtMs: number;
}

/** The bounds of the column `namespace` for a namespace and all that begin with the same elements. */
interface NamespaceRange {
  from: string;
  to: string;
}

/**
 * Returns the range of keys of a namespace and everything below it. Keys are JSON, so one below begins like `["a",` and sorts before
 * `["a"]` itself. No other key is between the two.
 */
function rangeOf(prefix: readonly string[]): NamespaceRange {
  const to = JSON.stringify(prefix);
  return { from: `${to.slice(0, -1)}${prefix.length === 0 ? '"' : ","}`, to };
}

const IN_RANGE = "namespace >= @from AND namespace <= @to";

export interface ItemPage {
  limit: number;
  offset: number;
  descending: boolean;
}

export class ItemRepository extends Repository {
  // Programs may read and write items in every step.
  readonly #put = this.statement<Omit<InsertOf<typeof ITEM>, "id"> & { id: number | null }>`${ITEM.upsert()}`;
  readonly #byKey = this.statement<[namespace: string, key: string], RowOf<typeof ITEM>>`
    SELECT ${ITEM} FROM items WHERE namespace = ? AND key = ?`;
  readonly #byId = this.statement<[id: number], RowOf<typeof ITEM>>`SELECT ${ITEM} FROM items WHERE id = ?`;
  readonly #known = this.statement<[namespace: string, key: string], RowOf<typeof KNOWN>>`
    SELECT ${KNOWN} FROM items WHERE namespace = ? AND key = ?`;
  readonly #delete = this.statement<[namespace: string, key: string]>`
    DELETE FROM items WHERE namespace = ? AND key = ?`;
  readonly #deleteRange = this.statement<NamespaceRange>`DELETE FROM items WHERE ${IN_RANGE}`;
  // These read no values, because they may be long.
  readonly #ids = this.statement<NamespaceRange & Omit<ItemPage, "descending">, number>`
    SELECT id FROM items WHERE ${IN_RANGE} ORDER BY namespace, key LIMIT @limit OFFSET @offset`.pluck();
  readonly #lastIds = this.statement<NamespaceRange & Omit<ItemPage, "descending">, number>`
    SELECT id FROM items WHERE ${IN_RANGE} ORDER BY namespace DESC, key DESC LIMIT @limit OFFSET @offset`.pluck();
  /** The first item of each namespace, in order. */
  readonly #namespaces = this.statement<NamespaceRange, RowOf<typeof ITEM>>`
    SELECT ${ITEM} FROM items WHERE id IN (SELECT min(id) FROM items WHERE ${IN_RANGE} GROUP BY namespace)
    ORDER BY namespace`;
  readonly #ofSessions = this.statement<NamespaceRange & { ids: string }, RowOf<typeof ITEM>>`
    SELECT ${ITEM} FROM items WHERE session_id IN (SELECT value FROM json_each(@ids)) AND ${IN_RANGE} ORDER BY namespace`;
  readonly count = this.statement<[], number>`SELECT count(*) FROM items`.pluck().one;

  /** The time of creation of an item that is replaced stays. */
  put(row: NewItem, createdAtMs = row.writtenAtMs): void {
    const known = this.#known.get(row.namespace, row.key);
    this.#put.run({ ...row, id: known?.id ?? null, createdAtMs: known?.createdAtMs ?? createdAtMs });
  }

  has(namespace: string, key: string): boolean {
    return this.#known.get(namespace, key) !== undefined;
  }

  byKey(namespace: readonly string[], key: string): Item | undefined {
    const row = this.#byKey.get(JSON.stringify(namespace), key);
    return row && itemOf(row);
  }

  /** The tags of sessions by id, in order. Sessions without tags are missing. */
  tagsOf(sessionIds: readonly string[]): Map<string, string[]> {
    const tags = new Map<string, string[]>();
    for (const row of this.#ofSessions.all({ ids: JSON.stringify(sessionIds), ...rangeOf(TAGS) })) {
      const { namespace, key } = itemOf(row);
      addTo(tags, key, namespace[TAGS.length]!);
    }
    return tags;
  }

  delete(namespace: readonly string[], key: string): boolean {
    return this.#delete.run(JSON.stringify(namespace), key).changes > 0;
  }

  deleteAll(prefix: readonly string[]): number {
    return this.#deleteRange.run(rangeOf(prefix)).changes;
  }

  /** The ids of the items in a namespace and in those that begin with it, by namespace and key. */
  ids(prefix: readonly string[], { descending, ...page }: ItemPage): number[] {
    return (descending ? this.#lastIds : this.#ids).all({ ...rangeOf(prefix), ...page });
  }

  find(id: number): Item | undefined {
    const row = this.#byId.get(id);
    return row && itemOf(row);
  }

  byId(id: number): Item {
    return itemOf(this.#byId.one(id));
  }

  namespaces(prefix: readonly string[]): string[][] {
    return this.#namespaces.all(rangeOf(prefix)).map(({ namespace }) => parseStored(namespace) as string[]);
  }
}

function itemOf({ namespace, key, sessionId, createdAtMs, writtenAtMs, ...stored }: RowOf<typeof ITEM>): Item {
  return {
    namespace: parseStored(namespace) as string[],
    key,
    value: decodeValue(stored),
    ...(sessionId !== null && { session: sessionId }),
    createdAtMs,
    updatedAtMs: writtenAtMs,
  };
}
