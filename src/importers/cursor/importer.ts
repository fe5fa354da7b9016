import { isDatabaseOf, readDatabase } from "../database-reader.ts";
import type { Importer } from "../importer.ts";

/**
 * Reads the database of Cursor, `…/Cursor/User/globalStorage/state.vscdb`, with all of its conversations. Only rows of
 * conversations are read: other rows hold settings and keys. In warnings, the line is the row id.
 */
export const cursor: Importer = {
  name: "cursor",
  detect: () => false,
  detectDatabase: (path, signal) => isDatabaseOf("cursor", path, signal),
  read: (file) => readDatabase("cursor", file),
};
