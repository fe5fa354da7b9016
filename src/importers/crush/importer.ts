import { databaseImporter } from "../database-reader.ts";

/**
 * Reads the database of Crush, `.crush/crush.db` in a project's folder, with all of its sessions and subagents. In warnings, the line
 * is the row id.
 */
export const crush = databaseImporter("crush");
