import { StoreError } from "../../core/errors.ts";
import { changedSession, parentsFirst } from "../database-sessions.ts";
import type { Element } from "../document-scanner.ts";
import { fieldsFirst, readDocument } from "../documents.ts";
import type { DatabaseFile, DatabaseFormat, ForeignDatabase, Row } from "../foreign-database.ts";
import type { ImportEvent } from "../importer.ts";
import type { DamagedLine } from "../lines.ts";
import { unpacked } from "../zstd.ts";
import { ThreadTranslator } from "./thread.ts";

const TABLES = {
  threads: {
    required: ["id", "summary", "updated_at", "data_type", "data"],
    others: ["parent_id", "folder_paths", "created_at"],
    content: "data",
  },
} as const;

/**
 * Reads the database of Zed's agent, `…/zed/threads/threads.db`, with all of its threads. Each is a document, compressed with zstd.
 * In warnings, the line is the row id.
 */
export const zedDatabase: DatabaseFormat<keyof typeof TABLES> = { tables: TABLES, eventsIn };

async function* eventsIn(
  database: ForeignDatabase<keyof typeof TABLES>,
  file: DatabaseFile,
): AsyncGenerator<ImportEvent> {
  const rows: Row[] = [];
  for await (const row of database.rows("threads")) rows.push(row);
  const ordered = parentsFirst(
    rows,
    ({ id }) => id,
    ({ parent_id }) => parent_id,
  );
  for (const row of ordered) {
    const fingerprint = [row.updated_at, row.byteLength].join();
    yield* changedSession(file, String(row.id), fingerprint, () =>
      new ThreadTranslator(file, row).translate(fieldsFirst(elementsOf(database, file.path, row), "messages")),
    );
  }
}

/** Yields the elements of a thread. Their line is the row, because the document is one line. */
async function* elementsOf(
  database: ForeignDatabase<keyof typeof TABLES>,
  path: string,
  { rowid: line, id }: Row,
): AsyncGenerator<Element | DamagedLine> {
  const stored = database.stored("threads", line, { column: "id", value: id });
  if ("problem" in stored) {
    yield { line, problem: `thread ${id}: ${stored.problem}` };
    return;
  }
  const { content } = stored;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield Buffer.isBuffer(content) ? content : Buffer.from(String(content));
  }
  try {
    for await (const element of readDocument(await unpacked({ path, chunks: chunks() }))) yield { ...element, line };
  } catch (error) {
    if (!StoreError.is(error, "IMPORT_UNREADABLE")) throw error;
    yield { line, problem: `thread ${id}: ${error.details.reason}` };
  }
}
