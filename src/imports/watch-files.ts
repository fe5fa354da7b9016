import * as z from "zod/mini";
import { once } from "../core/once.ts";
import { callback, type FieldsOf, parseOptions, trueOrFalse } from "../core/schema.ts";
import type { Store } from "../session/store.ts";
import { importersWith } from "./define-importer.ts";
import { checkedPaths, type ImportOptions, type ImportProgress, importFields } from "./import-files.ts";
import type { WatchEvent } from "./watch/followed-files.ts";
import { WatchRun } from "./watch/watch-run.ts";

export interface WatchFilesOptions extends ImportOptions {
  /** Imports and summarizes the existing files, and ends. False by default. */
  once?: boolean;
  onEvent?: (event: WatchEvent) => void;
  /** Called often while the files that exist are imported, between small pieces of work. */
  onProgress?: (progress: ImportProgress) => void;
}

export interface WatchResult {
  /** Messages that the watch added to the store. */
  newCount: number;
}

const OPTIONS = once(() =>
  z.strictObject({
    ...importFields(),
    once: z._default(trueOrFalse(), false),
    onEvent: z.optional(callback<(event: WatchEvent) => void>()),
    onProgress: z.optional(callback<(progress: ImportProgress) => void>()),
  } satisfies FieldsOf<WatchFilesOptions>),
);

/**
 * Imports files and folders, the newest files first, and then follows them: what is written is imported about a quarter of a
 * second later.
 *
 * Paths need not exist yet. While a store is locked or full, the watch tries again. A watch that was killed loses nothing.
 *
 * @param paths  Files and folders, such as those of `findAgentLocations()`.
 * @returns when the signal was aborted; with `once`, when everything that exists is imported and summarized.
 * @throws {StoreError} errors that trying again cannot solve: `OPTION_INVALID`, `STORE_READONLY`, `STORE_CORRUPT`, `STORE_CLOSED`.
 */
export async function watchFiles(
  store: Store,
  paths: string | readonly string[],
  options: WatchFilesOptions = {},
): Promise<WatchResult> {
  const { once, importers, ...given } = parseOptions("watchFiles", OPTIONS(), options);
  const run = new WatchRun(store, { ...given, paths: checkedPaths(paths), importers: importersWith(importers) });
  await (once ? run.once() : run.follow());
  return { newCount: run.newCount };
}
