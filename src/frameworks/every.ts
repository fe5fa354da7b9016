import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import type { Entries } from "../session/entries.ts";
import type { Items } from "../session/items.ts";

type Entry = ReturnType<Entries["list"]>[number];

/** Yields the entries of a session in order, however many there are. */
export function* everyEntry(entries: Entries): Generator<Entry> {
  for (let after = 0, count = PAGE_LIMIT_MAX; count === PAGE_LIMIT_MAX; ) {
    const page = entries.list({ after });
    yield* page;
    count = page.length;
    after = page.at(-1)?.position ?? after;
  }
}

/** Returns the items whose namespaces begin with these elements. */
export function everyItem(items: Items, prefix: readonly string[]): ReturnType<Items["list"]> {
  return everyPage((offset) => items.list(prefix, { offset }));
}

/** Returns the namespaces with items that begin with these elements. */
export function everyNamespace(items: Items, prefix: readonly string[]): string[][] {
  return everyPage((offset) => items.namespaces({ prefix, offset }));
}

function everyPage<T>(pageAt: (offset: number) => T[]): T[] {
  const found: T[] = [];
  for (let count = PAGE_LIMIT_MAX; count === PAGE_LIMIT_MAX; ) {
    const page = pageAt(found.length);
    count = page.length;
    found.push(...page);
  }
  return found;
}
