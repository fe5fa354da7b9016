import { databaseImporter } from "../database-reader.ts";

/**
 * Reads the database of Cursor, `…/Cursor/User/globalStorage/state.vscdb`, with all of its conversations. Only rows of
 * conversations are read: other rows hold settings and keys. In warnings, the line is the row id.
 */
export const cursor = databaseImporter("cursor");
