import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";

// Files that would stop or slow a naive import. Each function writes one into a folder.

type HostileFile = (folder: string, name: string) => void;

const TABLES = `
  CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, time_created integer);
  CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
  CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_updated integer, data text);`;

/** A table of the numbers from 1, without end. */
const ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

function database(sql: string, change: (bytes: Buffer) => Buffer = (bytes) => bytes): HostileFile {
  return (folder, name) => {
    const path = join(folder, `${name}.db`);
    const opened = new Database(path);
    opened.unsafeMode();
    opened.exec(sql);
    const bytes = opened.serialize();
    opened.close();
    rmSync(path);
    writeFileSync(path, change(bytes));
  };
}

const file =
  (ending: string, bytes: () => string | Uint8Array): HostileFile =>
  (folder, name) =>
    writeFileSync(join(folder, `${name}.${ending}`), bytes());

const line = (fields: object): string => `${JSON.stringify({ session: "hostile", role: "user", ...fields })}\n`;
const keys = (count: number): string => Array.from({ length: count }, (_, index) => `"k${index}":${index}`).join();

/** A zstd frame that repeats bytes in blocks of 128 KiB, so that 6 kB hold 200 MB. */
export function packedRuns(byte: string, byteLength: number): Buffer {
  const size = 128 * 1024;
  const count = Math.ceil(byteLength / size);
  const blocks = Array.from({ length: count }, (_, index) => {
    const head = (size << 3) | (1 << 1) | (index === count - 1 ? 1 : 0);
    return Buffer.from([head & 0xff, (head >> 8) & 0xff, (head >> 16) & 0xff, byte.charCodeAt(0)]);
  });
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]), ...blocks]);
}

const PAGE_BYTES = 4_096;

/** Interior pages of an endless tree, and the cells on each. */
const DEPTH = 18;
const CELLS = 100;

/** Bytes of page 1 before its part of the schema. */
const FILE_HEADER_BYTES = 100;

/**
 * Puts 18 pages above the leaf at page `root`. Each names the next one 101 times, so that some kilobytes hold more rows than
 * anybody can count.
 */
function endlessTree(bytes: Buffer, root: number): Buffer {
  const pageCount = bytes.length / PAGE_BYTES;
  const grown = Buffer.concat([bytes, Buffer.alloc(DEPTH * PAGE_BYTES)]);
  const rootAt = (root - 1) * PAGE_BYTES;
  const leafAt = (pageCount + DEPTH - 1) * PAGE_BYTES;
  bytes.copy(grown, leafAt, rootAt, rootAt + PAGE_BYTES);
  const headAt = rootAt + (root === 1 ? FILE_HEADER_BYTES : 0);
  const headBytes = 8 + 2 * bytes.readUInt16BE(headAt + 3);
  bytes.copy(grown, leafAt, headAt, headAt + headBytes);
  for (let level = 0; level < DEPTH; level++) {
    const pageAt = level === 0 ? rootAt : (pageCount + level - 1) * PAGE_BYTES;
    const nodeAt = level === 0 ? headAt : pageAt;
    const cellsAt = PAGE_BYTES - CELLS * 5;
    const child = pageCount + level + 1;
    grown.fill(0, nodeAt, pageAt + PAGE_BYTES);
    grown[nodeAt] = 5;
    grown.writeUInt16BE(CELLS, nodeAt + 3);
    grown.writeUInt16BE(cellsAt, nodeAt + 5);
    grown.writeUInt32BE(child, nodeAt + 8);
    for (let cell = 0; cell < CELLS; cell++) {
      const cellAt = cellsAt + cell * 5;
      grown.writeUInt16BE(cellAt, nodeAt + 12 + cell * 2);
      grown.writeUInt32BE(child, pageAt + cellAt);
      grown[pageAt + cellAt + 4] = cell + 1;
    }
  }
  grown.writeUInt32BE(grown.length / PAGE_BYTES, 28);
  return grown;
}

const rootOf = (bytes: Buffer, table: string): number => {
  const opened = new Database(bytes);
  try {
    return opened.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(table) as number;
  } finally {
    opened.close();
  }
};

const SAID = `
  INSERT INTO session VALUES ('s', NULL, '/srv/x', 'x', 1);
  INSERT INTO message VALUES ('m', 's', 1, 1, '{"role":"user"}');
  INSERT INTO part VALUES ('p', 'm', 's', 1, '{"type":"text","text":"hostile"}');`;
const NAMED = `SELECT 's' || i AS id, NULL AS parent_id, '/x' AS directory, 'x' AS title, i AS time_created FROM n`;

/** All kinds of hostile files, by name. */
export const HOSTILE_FILES: Readonly<Record<string, HostileFile>> = {
  "packed brackets": file("jsonl.zst", () => packedRuns("[", 200e6)),
  "packed braces": file("jsonl.zst", () => packedRuns("{", 200e6)),
  "packed blanks": file("jsonl.zst", () => packedRuns(" ", 20e9)),
  "packed lines": file("jsonl.zst", () => packedRuns("\n", 4e9)),
  "packed window": file("jsonl.zst", () =>
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa7, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
  ),
  "packed, cut off": file("jsonl.zst", () => packedRuns("x", 1e6).subarray(0, 20)),
  "view of sessions": database(`${TABLES} DROP TABLE session; CREATE VIEW session AS ${ENDLESS} ${NAMED};`),
  "view of messages": database(
    `${TABLES} ${SAID} DROP TABLE message;
     CREATE VIEW message AS ${ENDLESS} SELECT i AS rowid, 'm' || i AS id, 's' AS session_id, i AS time_created, i AS time_updated, '{}' AS data FROM n;`,
  ),
  "view of parts": database(
    `${TABLES} ${SAID} DROP TABLE part;
     CREATE VIEW part AS ${ENDLESS} SELECT i AS rowid, 'p' || i AS id, 'm' AS message_id, 's' AS session_id, i AS time_updated, '{}' AS data FROM n;`,
  ),
  "generated column": database(
    `${TABLES} ${SAID} DROP TABLE part;
     CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_updated integer,
       data text AS (hex(zeroblob(10000000))));
     INSERT INTO part (id, message_id, session_id) VALUES ('p', 'm', 's');`,
  ),
  "virtual table": database(
    `${TABLES} ${SAID} DROP TABLE part; CREATE VIRTUAL TABLE part USING fts5(id, message_id, session_id, data);`,
  ),
  "chain of sessions": database(
    `${TABLES} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)
     INSERT INTO session SELECT 's' || i, 's' || (i + 1), '/x', 'x', i FROM n;
     INSERT INTO message SELECT 'm' || id, id, 1, 1, '{"role":"user"}' FROM session WHERE time_created % 1000 = 0;
     INSERT INTO part SELECT 'p' || id, id, session_id, 1, '{"type":"text","text":"linked"}' FROM message;`,
  ),
  "endless tree of sessions": database(`${TABLES} ${SAID}`, (bytes) => endlessTree(bytes, rootOf(bytes, "session"))),
  "endless tree of parts": database(`${TABLES} ${SAID}`, (bytes) => endlessTree(bytes, rootOf(bytes, "part"))),
  "endless schema": database(`${TABLES} ${SAID}`, (bytes) => endlessTree(bytes, 1)),
  "endless statistics": database(`${TABLES} ${SAID} ANALYZE;`, (bytes) =>
    endlessTree(bytes, rootOf(bytes, "sqlite_stat1")),
  ),
  "endless trigger": database(
    `${TABLES} ${SAID}
     CREATE TRIGGER again AFTER UPDATE ON session BEGIN UPDATE session SET title = (${ENDLESS} SELECT max(i) FROM n); END;`,
  ),
  "deep line": file("jsonl", () => "[".repeat(2e6)),
  "deep, whole line": file(
    "jsonl",
    () => `{"session":"deep","role":"user","data":${"[".repeat(1e6)}${"]".repeat(1e6)}}\n`,
  ),
  "deep document": file("json", () => `[{"role":"user","content":${'{"a":'.repeat(5e5)}`),
  "wide line": file("jsonl", () => line({}).replace("}", `,"content":"x","metadata":{${keys(20_000)}}}`)),
  "wide document": file("json", () => `{${keys(100_000)},"messages":[{"role":"user","content":"x"}]}`),
  "many values": file("jsonl", () => `{"session":"hostile","role":"user","parts":[${"[],".repeat(3e6)}[]]}\n`),
  "odd values": file("jsonl", () =>
    [
      { content: "x", createdAt: 9e15 },
      { content: "x", id: "\ud800" },
      { content: "x", id: "i".repeat(1_000) },
      { session: "\u009b31m\u202e", content: "x" },
      { session: "\0", content: "x" },
      { session: "own parent", settings: {}, parent: "own parent" },
      { session: "far", settings: {}, forkSeq: 2 ** 53 - 1, parent: "nobody" },
      { session: "far", content: "x", seq: 2 ** 53 - 1 },
      { session: "far", content: "x", seq: -1 },
      { content: "x", metadata: JSON.parse('{"__proto__":{"a":1}}') },
      { content: [{ type: "tool_call" }] },
      { content: null },
    ]
      .map(line)
      .join(""),
  ),
  "odd claude": file("jsonl", () =>
    [
      { type: "user", uuid: 1, sessionId: "odd", message: { role: "user", content: "x" } },
      { type: "user", uuid: "u", parentUuid: "u", sessionId: "odd", message: { role: "user", content: 7 } },
      { type: "assistant", uuid: "v", parentUuid: "w", sessionId: "odd", message: { content: [{ type: "tool_use" }] } },
      { type: "assistant", uuid: "w", parentUuid: "v", sessionId: "odd", message: null },
      { type: "user", uuid: "x", sessionId: ["odd"], timestamp: {}, message: { role: "user", content: [[[]]] } },
    ]
      .map((fields) => `${JSON.stringify(fields)}\n`)
      .join(""),
  ),
  binary: file("jsonl", () => Uint8Array.from({ length: 10_000 }, (_, index) => (index * 7919) % 256)),
  "not UTF-8": file("jsonl", () =>
    Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(line({ content: "x" }), "utf16le")]),
  ),
  zeros: file("db", () => new Uint8Array(10_000)),
  "cut database": database(`${TABLES} ${SAID}`, (bytes) => bytes.subarray(0, PAGE_BYTES + 100)),
  "loop of links": (folder, name) => symlinkSync(`${name}.jsonl`, join(folder, `${name}.jsonl`)),
};
