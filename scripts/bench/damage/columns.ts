import { readFileSync } from "node:fs";
import Database from "better-sqlite3";

/** The bytes of a value in the file; for a long value, those in the page of its row. */
interface Place {
  byte: number;
  length: number;
}

/** All values of one column of a table, or of an index. */
export interface Column {
  name: string;
  places: Place[];
}

interface PageRow {
  name: string;
  pageno: number;
}

/** Page types of the file format: https://www.sqlite.org/fileformat.html#b_tree_pages */
const [INTERIOR_INDEX, INTERIOR_TABLE, LEAF_TABLE] = [2, 5, 13];
const FILE_HEADER = 100;

/** Finds the values in the rows of all tables and indexes. Row ids and the header of a row count as columns. */
export function columnsOf(path: string): Column[] {
  const bytes = readFileSync(path);
  const database = new Database(path, { readonly: true });
  const pages = database.prepare("SELECT name, pageno FROM dbstat WHERE pagetype <> 'overflow'").all() as PageRow[];
  const pageSize = database.pragma("page_size", { simple: true }) as number;
  database.close();
  const columns = new Map<string, Place[]>();
  for (const { name, pageno } of pages) {
    const start = (pageno - 1) * pageSize;
    const header = start + (pageno === 1 ? FILE_HEADER : 0);
    const type = bytes[header]!;
    const cells = header + (type === INTERIOR_INDEX || type === INTERIOR_TABLE ? 12 : 8);
    for (let cell = 0; cell < bytes.readUInt16BE(header + 3); cell++) {
      const at = start + bytes.readUInt16BE(cells + 2 * cell);
      for (const { part, ...place } of partsOf(bytes, at, type)) {
        const [key, end] = [`${name} ${part}`, Math.min(place.byte + place.length, start + pageSize)];
        if (end <= place.byte) continue;
        const places = columns.get(key) ?? [];
        columns.set(key, places);
        places.push({ byte: place.byte, length: end - place.byte });
      }
    }
  }
  return [...columns].map(([name, places]) => ({ name, places }));
}

function* partsOf(bytes: Buffer, at: number, type: number): Generator<Place & { part: string | number }> {
  const reader = new VarintReader(bytes, at);
  if (type === INTERIOR_INDEX || type === INTERIOR_TABLE) reader.at += 4;
  if (type !== INTERIOR_TABLE) reader.next(); // the size of the row
  if (type === INTERIOR_TABLE || type === LEAF_TABLE) {
    const byte = reader.at;
    reader.next();
    yield { part: "id", byte, length: reader.at - byte };
  }
  if (type === INTERIOR_TABLE) return;
  const byte = reader.at;
  const end = byte + reader.next();
  yield { part: "header", byte, length: end - byte };
  for (let [column, value] = [0, end]; reader.at < end; column++) {
    const length = lengthOf(reader.next());
    yield { part: column, byte: value, length };
    value += length;
  }
}

/** https://www.sqlite.org/fileformat.html#record_format */
function lengthOf(serialType: number): number {
  if (serialType >= 12) return (serialType - 12) >> 1;
  return [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0][serialType]!;
}

class VarintReader {
  at: number;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** Wrong beyond 2 ** 53, which no size or row id of the store reaches. */
  next(): number {
    let value = 0;
    for (let count = 1; ; count++) {
      const byte = this.#bytes[this.at++]!;
      if (count === 9) return value * 256 + byte;
      value = value * 128 + (byte & 127);
      if (byte < 128) return value;
    }
  }
}
