import { eq } from "drizzle-orm";
import type { GrowingTheme } from "../forest/growing-forest.ts";
import { encodeVector } from "../vector/codec.ts";
import type { StoreDatabase } from "./open.ts";
import { themes } from "./schema.ts";
import { columns, type RowOf } from "./statement.ts";

const THEME = columns(themes);

const statements = ({ statement }: StoreDatabase) => ({
  // Moves of the frontier and resumes run these.
  put: statement<Omit<RowOf<typeof THEME>, "centroidSum"> & { centroidSum: Buffer }>`${THEME.upsert("sessionId")}`,
  delete: statement<[root: number]>`DELETE FROM themes WHERE root_id = ?`,
  ofSession: statement<[sessionId: string], RowOf<typeof THEME>>`
    SELECT ${THEME} FROM themes WHERE session_id = ? ORDER BY root_id`,
});

/** Rows of `themes`. */
export class ThemeRepository {
  readonly #orm;
  readonly #statements;

  constructor(database: StoreDatabase) {
    this.#orm = database.orm;
    this.#statements = statements(database);
  }

  put(sessionId: string, { theme, logPosition }: GrowingTheme): void {
    const { root: rootId, sum, ...counts } = theme;
    this.#statements.put.run({ rootId, sessionId, centroidSum: encodeVector(sum), logPosition, ...counts });
  }

  delete(root: number): void {
    this.#statements.delete.run(root);
  }

  deleteOf(sessionId: string): void {
    this.#orm.delete(themes).where(eq(themes.sessionId, sessionId)).run();
  }

  deleteAll(): void {
    this.#orm.delete(themes).run();
  }

  /** Oldest root first. */
  ofSession(sessionId: string): GrowingTheme[] {
    return this.#statements.ofSession
      .all(sessionId)
      .map(({ rootId: root, sessionId: _, centroidSum: sum, logPosition, ...counts }) => ({
        theme: { root, sum, ...counts },
        logPosition,
      }));
  }
}
