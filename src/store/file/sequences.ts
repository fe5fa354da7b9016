import { Repository } from "./repository.ts";

/** The tables with ids that move with a session. */
const TABLES = ["messages", "unions", "summaries", "entries"];
const NAMES = JSON.stringify(TABLES);

/** The newest ids of tables: rows of SQLite's own table `sqlite_sequence`. */
export class SequenceRepository extends Repository {
  // A table of SQLite's own.
  readonly newest = this.statement<[], number>`
    SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name IN (SELECT value FROM json_each('${NAMES}'))`.pluck()
    .one;
  readonly #delete = this.statement<[]>`
    DELETE FROM sqlite_sequence WHERE name IN (SELECT value FROM json_each('${NAMES}'))`;
  readonly #insert = this.statement<[id: number]>`
    INSERT INTO sqlite_sequence (name, seq) SELECT value, ? FROM json_each('${NAMES}')`;

  /** Makes the next id of each table the one after `id`. It must not be below their newest. */
  moveTo(id: number): void {
    this.#delete.run();
    this.#insert.run(id);
  }
}
