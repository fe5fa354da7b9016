import { estimatingTokenCounter } from "../../src/core/tokens.ts";
import { TITLES } from "../../src/models/title.ts";
import type { Source } from "../../src/recall/source.ts";
import { storeSource } from "../../src/recall/store-source.ts";
import { openDatabase } from "../../src/store/file/open.ts";
import { makeRepositories, type Repositories } from "../../src/store/repositories.ts";

/** Calls a function with the tables of a store, and with what a search reads of them. */
export function readingStore(path: string, read: (repositories: Repositories, source: Source) => void): void {
  const database = openDatabase(path, { readonly: true, durability: "process", busyTimeoutMs: 0 });
  const repositories = makeRepositories(database, estimatingTokenCounter, TITLES);
  database.read(() => read(repositories, storeSource(repositories)));
  database.client.close();
}
