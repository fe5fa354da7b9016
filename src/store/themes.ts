import { eq } from "drizzle-orm";
import type { GrowingTheme } from "../forest/growing-forest.ts";
import { encodeVector } from "../vector/codec.ts";
import { Repository } from "./repository.ts";
import { themes } from "./schema.ts";
import { columns, type InsertOf, type RowOf } from "./statement.ts";

export const THEME = columns(themes);
type ThemeRow = RowOf<typeof THEME>;

export class ThemeRepository extends Repository {
  // Moves of the frontier and resumes run these.
  readonly #put = this.statement<
    Omit<InsertOf<typeof THEME>, "centroidSum"> & { centroidSum: Buffer }
  >`${THEME.upsert("sessionId")}`;
  readonly byRoot = this.statement<[root: number], ThemeRow>`SELECT ${THEME} FROM themes WHERE root_id = ?`.get;
  readonly delete = this.statement<[root: number]>`DELETE FROM themes WHERE root_id = ?`.run;
  /** Oldest root first. */
  readonly ofSession = this.statement<[sessionId: string], ThemeRow>`
    SELECT ${THEME} FROM themes WHERE session_id = ? ORDER BY root_id`.map(growingTheme).all;

  put(sessionId: string, { theme, logPosition }: GrowingTheme): void {
    const { root: rootId, sum, ...counts } = theme;
    this.#put.run({ rootId, sessionId, centroidSum: encodeVector(sum), logPosition, ...counts });
  }

  deleteOf(sessionId?: string): void {
    this.orm
      .delete(themes)
      .where(sessionId === undefined ? undefined : eq(themes.sessionId, sessionId))
      .run();
  }
}

function growingTheme({
  rootId: root,
  sessionId: _,
  checksum: __,
  centroidSum: sum,
  logPosition,
  ...counts
}: ThemeRow): GrowingTheme {
  return { theme: { root, sum, ...counts }, logPosition };
}
