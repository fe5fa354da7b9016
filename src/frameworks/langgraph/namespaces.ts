import type { Store } from "../../session/store.ts";

const PAGE = 10_000;

/** Returns all namespaces with items that begin with these elements. */
export function namespacesUnder(store: Store, prefix: readonly string[]): string[][] {
  const found: string[][] = [];
  for (;;) {
    const page = store.items.namespaces({ prefix, offset: found.length, limit: PAGE });
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}
