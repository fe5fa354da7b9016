import { onTestFinished } from "vitest";
import { estimatingTokenCounter } from "../../src/core/tokens.ts";
import type { Store } from "../../src/index.ts";
import { TITLES } from "../../src/models/title.ts";
import { searchFullText } from "../../src/recall/full-text-search.ts";
import type { TextHit } from "../../src/recall/postings.ts";
import { parseQuery } from "../../src/recall/query.ts";
import { storeSource } from "../../src/recall/store-source.ts";
import type { SearchScope } from "../../src/store/derived/search-scope.ts";
import { openDatabase } from "../../src/store/file/open.ts";
import { makeRepositories, type Repositories } from "../../src/store/repositories.ts";

/** The rows of a store file through a connection of its own, closed when the test is over. */
export function repositoriesOf(path: string, options: { readonly: boolean } = { readonly: true }): Repositories {
  const database = openDatabase(path, { ...options, durability: "process", busyTimeoutMs: 5_000 });
  onTestFinished(() => {
    database.client.close();
  });
  return makeRepositories(database, estimatingTokenCounter, TITLES);
}

/** Search as a process does that may only read. */
export function searching(path: string): (query: string, scope?: SearchScope, limit?: number) => TextHit[] {
  const repositories = repositoriesOf(path);
  const source = storeSource(repositories);
  return (query, scope = {}, limit = 100) =>
    repositories.database.read(() => searchFullText(source, parseQuery(query), scope, limit).hits);
}

/** Bring every message into the index. */
export function indexAll(store: Store): void {
  store.verify({ rebuild: true });
}
