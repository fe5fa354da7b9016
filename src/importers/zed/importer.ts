import { isDatabaseOf, readDatabase } from "../database-reader.ts";
import type { Importer } from "../importer.ts";

/**
 * Reads the database of Zed's agent, `…/zed/threads/threads.db`, with all of its threads. Each is a document, compressed with zstd.
 * In warnings, the line is the row id.
 */
export const zed: Importer = {
  name: "zed",
  detect: () => false,
  detectDatabase: (path, signal) => isDatabaseOf("zed", path, signal),
  read: (file) => readDatabase("zed", file),
};
