import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { PAUSE, QUIET } from "../../../src/importers/importer.ts";
import { IMPORTERS } from "../../../src/importers/registry.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import { openStore, StoreError } from "../../../src/index.ts";
import { mutatedBytes, mutatedFile } from "./odd-files.ts";
import { mutatedJson, oddJson } from "./odd-json.ts";
import { oddText } from "./odd-texts.ts";
import type { Random } from "./random.ts";
import { type OpenTarget, type Target, UntypedError } from "./target.ts";

export const FIXTURES = fileURLToPath(new URL("../../../test/fixtures/", import.meta.url));
const OPENCODE_EXPORT = "importers/opencode/export.json";

const FILES = readdirSync(join(FIXTURES, "importers"), { recursive: true, encoding: "utf8" })
  .filter((name) => /\.jsonl?$/.test(name))
  .map((name) => join("importers", name))
  .sort();
const SAMPLES = [...FILES, "rollout.jsonl.zst"].map((name) => readFileSync(join(FIXTURES, name)));
const FORMATS = IMPORTERS.map(({ name }) => name);

const LARGE_BYTES = 1_000_000;

/** Imports changed transcripts of every format into a store, and reads their sessions. */
export const importers: Target = {
  open: async (folder) => new OpenImporters(folder),
};

class OpenImporters implements OpenTarget {
  readonly #database: string;
  readonly #store;

  constructor(folder: string) {
    this.#store = openStore(join(folder, "store.db"));
    this.#database = join(folder, "opencode.db");
  }

  async feed(random: Random): Promise<void> {
    const isDatabase = random.chance(0.02);
    const bytes = isDatabase ? writeDatabase(this.#database, random) : mutatedFile(random.pick(SAMPLES), random);
    // What was garbage while the input was made must not count with what reading it takes.
    if (bytes.length > LARGE_BYTES) gc?.();
    const file = {
      path: isDatabase ? this.#database : "fuzzed.jsonl",
      chunks: cut(bytes, random),
      isFinished: random.chance(0.3),
      isUncertain: random.chance(0.1),
    };
    const format = random.chance(0.85) ? "auto" : random.pick(FORMATS);
    const run = new ImportRun(this.#store, { format });
    const { sessionIds, error } = await run.read(file);
    if (error !== null && error.code !== "IMPORT_UNREADABLE") throw new UntypedError(`${error.code}: ${error.message}`);
    for (const id of sessionIds.slice(0, 3)) {
      const session = this.#store.resume(id);
      session.messages({ limit: 20 });
      session.info();
      try {
        session.render();
      } catch (error) {
        if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
      }
      if (random.chance(0.05)) session.compact();
      if (random.chance(0.02)) await session.resolveDirty();
    }
    if (random.chance(0.1)) this.#store.sessions();
    if (random.chance(0.05)) await this.#store.recall(random.pick(["deploy", "the tests", `${oddText(random)} fix`]));
  }

  async close(): Promise<void> {
    for (const _ of this.#store.export()) {
      // Each line is made, which reads each message.
    }
    checkVerified(this.#store);
    this.#store.close();
  }
}

/** Checks a store. @throws if `verify` finds a problem. */
export function checkVerified(store: ReturnType<typeof openStore>): void {
  const report = store.verify();
  if (!report.ok) throw new UntypedError(`verify: ${JSON.stringify(report).slice(0, 1_000)}`);
}

/** Cuts a file into chunks, sometimes as if it were followed. */
async function* cut(bytes: Buffer, random: Random): AsyncGenerator<Uint8Array> {
  const isFollowed = random.chance(0.15);
  for (let start = 0; start < bytes.length; ) {
    const lineEnd = bytes.indexOf(10, start) + 1;
    const end = isFollowed && lineEnd > 0 ? lineEnd : start + 1 + random.below(bytes.length);
    yield bytes.subarray(start, end);
    start = end;
    if (isFollowed && lineEnd > 0 && random.chance(0.3)) yield random.pick([PAUSE, QUIET]);
  }
}

/** Writes a database of opencode with some odd rows, or with damaged bytes. Returns its bytes. */
function writeDatabase(path: string, random: Random): Buffer {
  const { info, messages } = JSON.parse(readFileSync(join(FIXTURES, OPENCODE_EXPORT), "utf8"));
  const database = new Database(":memory:");
  database.exec(`CREATE TABLE session (id, parent_id, directory, title, time_created);
    CREATE TABLE message (id, session_id, time_created, time_updated, data);
    CREATE TABLE part (id, message_id, session_id, time_updated, data)`);
  const insert = (table: string, values: unknown[]): void => {
    const row = values.map((value) => (random.chance(0.03) ? oddColumn(random) : value));
    database.prepare(`INSERT INTO ${table} VALUES (${row.map(() => "?").join()})`).run(row);
    if (random.chance(0.02)) insert(table, values);
  };
  const jsonOf = (value: unknown): string =>
    random.chance(0.1) ? mutatedJson(structuredClone(value), random) : JSON.stringify(value);
  insert("session", [info.id, info.parentID ?? null, info.directory, info.title, 1]);
  insert("session", ["child", random.pick([info.id, "child", "none"]), "/srv", "A child", 2]);
  for (const [index, { info: message, parts }] of messages.entries()) {
    insert("message", [message.id, random.pick([info.id, info.id, "child"]), index, index, jsonOf(message)]);
    for (const part of parts) insert("part", [part.id, message.id, info.id, index, jsonOf(part)]);
  }
  let bytes = database.serialize();
  database.close();
  if (random.chance(0.4)) bytes = mutatedBytes(bytes, random);
  writeFileSync(path, bytes);
  return bytes;
}

function oddColumn(random: Random): string | number | bigint | Buffer | null {
  return random.pick([null, -1, 1.5, 9e15, 2n ** 62n, Buffer.from([0xff, 0]), oddText(random), oddJson(random)]);
}
