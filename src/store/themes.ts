import { eq } from "drizzle-orm";
import type { GrowingTheme } from "../forest/growing-forest.ts";
import { encodeVector } from "../vector/codec.ts";
import type { StoreDatabase } from "./open.ts";
import type { PathRepository } from "./paths.ts";
import { Repository } from "./repository.ts";
import { themes } from "./schema.ts";
import { columns, type InsertOf, type RowOf } from "./statement.ts";

export const THEME = columns(themes);
type ThemeRow = RowOf<typeof THEME>;

export class ThemeRepository extends Repository {
  // Moves of the frontier and resumes run these.
  readonly #put = this.statement<
    Omit<InsertOf<typeof THEME>, "centroidSum"> & { centroidSum: Buffer }
  >`${THEME.upsert()}`;
  readonly #byRoot = this.statement<[root: number, sessionId: string], ThemeRow>`
    SELECT ${THEME} FROM themes WHERE root_id = ? AND session_id = ?`;
  readonly delete = this.statement<[root: number, sessionId: string]>`
    DELETE FROM themes WHERE root_id = ? AND session_id = ?`.run;
  /** The rows of a session itself, oldest root first. */
  readonly own = this.statement<[sessionId: string], ThemeRow>`
    SELECT ${THEME} FROM themes WHERE session_id = ? ORDER BY root_id`.map(growingTheme).all;
  readonly #paths: PathRepository;

  constructor(database: StoreDatabase, paths: PathRepository) {
    super(database);
    this.#paths = paths;
  }

  /** Oldest root first. */
  ofSession(sessionId: string): GrowingTheme[] {
    return this.own(this.#paths.grower(sessionId).sessionId);
  }

  byRoot(sessionId: string, root: number): ThemeRow | undefined {
    return this.#byRoot.get(root, this.#paths.grower(sessionId).sessionId);
  }

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
