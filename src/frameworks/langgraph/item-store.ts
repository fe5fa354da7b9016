import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
  validateNamespace,
} from "@langchain/langgraph-checkpoint";
import { StoreError } from "../../core/errors.ts";
import { rankTexts } from "../../recall/rank-texts.ts";
import type { Store } from "../../session/store.ts";
import { everyItem, everyNamespace } from "../every.ts";
import { matches } from "./item-filter.ts";
import { textOfValue } from "./item-text.ts";

/** The value of a checkpoint's item in the store. */
interface StoredValue {
  value: Record<string, unknown>;
  /** The paths that are searched: by default all. False: none. */
  index?: false | string[];
}

interface Candidate extends SearchItem {
  index: StoredValue["index"];
}

const ROOT = ["langgraph", "store"];

/**
 * LangGraph's long-term memory in a store: values by namespace and key, with filters and search. Search is by words, as in
 * `recall`: it needs no embeddings, and finds the items that share a word with the query. A batch is one transaction.
 */
export class CoppiceStore extends BaseStore {
  readonly #store: Store;

  constructor(store: Store) {
    super();
    this.#store = store;
  }

  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const hasPut = operations.some((operation) => "value" in operation);
    const run = () => operations.map((operation) => this.#run(operation));
    return (hasPut ? this.#store.atomically(run) : run()) as OperationResults<Op>;
  }

  #run(operation: Operation): unknown {
    if ("namespacePrefix" in operation) return this.#search(operation);
    if (!("namespace" in operation)) return this.#namespaces(operation);
    // The base class refuses the reserved root in `put`. LangGraph itself writes there by `batch`.
    validateNamespace(operation.namespace, { allowReservedRoot: true });
    return "value" in operation ? this.#put(operation) : this.#get(operation);
  }

  #get({ namespace, key }: GetOperation): Item | null {
    const item = this.#store.items.get([...ROOT, ...namespace], key);
    return item === undefined ? null : itemOf(candidateOf(item));
  }

  #put({ namespace, key, value, index }: PutOperation): void {
    const place = [...ROOT, ...namespace];
    if (value === null) {
      this.#store.items.delete(place, key);
      return;
    }
    const stored = JSON.parse(JSON.stringify({ value, index }));
    if (!("value" in stored))
      throw new StoreError("VALUE_INVALID", { path: "value", reason: `${typeof value} is not JSON` });
    this.#store.items.put(place, key, stored);
  }

  #search({ namespacePrefix, filter = {}, limit = 10, offset = 0, query }: SearchOperation): SearchItem[] {
    validateNamespace(namespacePrefix, { allowEmpty: true, allowReservedRoot: true });
    const candidates = everyItem(this.#store.items, [...ROOT, ...namespacePrefix]).map(candidateOf);
    const found = candidates.filter(({ value }) => matches(value, filter));
    found.sort((left, right) => right.updatedAt.getTime() - left.updatedAt.getTime());
    if (!query) return found.slice(offset, offset + limit).map(itemOf);
    const searched = found.filter(({ index }) => index !== false);
    return rankTexts(
      query,
      searched.map(({ value, index }) => textOfValue(value, index || undefined)),
    )
      .slice(offset, offset + limit)
      .map(({ index, score }) => ({ ...itemOf(searched[index]!), score }));
  }

  #namespaces({ matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation): string[][] {
    const known = new Map<string, string[]>();
    for (const [, , ...namespace] of everyNamespace(this.#store.items, ROOT)) {
      if (!matchConditions.every((condition) => doesMatch(namespace, condition))) continue;
      const cut = namespace.slice(0, maxDepth);
      known.set(JSON.stringify(cut), cut);
    }
    return [...known.values()].sort(compareNamespaces).slice(offset, offset + limit);
  }
}

function candidateOf(item: {
  namespace: string[];
  key: string;
  value: unknown;
  createdAtMs: number;
  updatedAtMs: number;
}) {
  const { value, index } = item.value as StoredValue;
  return {
    value,
    index,
    key: item.key,
    namespace: item.namespace.slice(ROOT.length),
    createdAt: new Date(item.createdAtMs),
    updatedAt: new Date(item.updatedAtMs),
  };
}

function itemOf({ index: _, ...item }: Candidate): Item {
  return item;
}

function doesMatch(namespace: readonly string[], { matchType, path }: MatchCondition): boolean {
  const start = matchType === "suffix" ? namespace.length - path.length : 0;
  return (
    start >= 0 &&
    path.every((element, index) => element === "*" || element === namespace[start + index]) &&
    path.length <= namespace.length
  );
}

function compareNamespaces(left: readonly string[], right: readonly string[]): number {
  const at = left.findIndex((element, index) => element !== right[index]);
  if (at < 0 || at >= right.length) return left.length - right.length;
  return left[at]! < right[at]! ? -1 : 1;
}
