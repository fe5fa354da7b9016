import { databaseImporter } from "../database-reader.ts";

/**
 * Reads the database of Zed's agent, `…/zed/threads/threads.db`, with all of its threads. Each is a document, compressed with zstd.
 * In warnings, the line is the row id.
 */
export const zed = databaseImporter("zed");
