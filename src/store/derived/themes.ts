import type { GrowingTheme } from "../../forest/growing-forest.ts";
import { PathReader, type PathRepository } from "../facts/paths.ts";
import type { StoreDatabase } from "../file/open.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import type { PastForests } from "./past-forests.ts";

export const THEME = columns(TABLES.themes);
type ThemeRow = RowOf<typeof THEME>;

export class ThemeRepository extends PathReader {
  // Moves of the frontier and resumes run these.
  readonly #put = this.statement<[Record<string, unknown>]>`${THEME.upsert()}`.run;
  readonly delete = this.statement<[root: number, sessionId: string]>`
    DELETE FROM themes WHERE root_id = ? AND session_id = ?`.run;
  readonly deleteOf = this.statement<[sessionId: string]>`DELETE FROM themes WHERE session_id = ?`.run;
  readonly deleteAll = this.statement`DELETE FROM themes`.run;
  /** The rows of a session itself, oldest root first. */
  readonly own = this.statement<[sessionId: string], ThemeRow>`
    SELECT ${THEME} FROM themes WHERE session_id = ? ORDER BY root_id`.map(growingTheme).all;
  readonly #pastForests: PastForests;

  constructor(database: StoreDatabase, paths: PathRepository, pastForests: PastForests) {
    super(database, paths);
    this.#pastForests = pastForests;
  }

  /** Oldest root first. */
  ofSession(sessionId: string): readonly GrowingTheme[] {
    const grower = this.paths.grower(sessionId);
    return grower === undefined ? this.#pastForests.of(sessionId)!.themes() : this.own(grower.sessionId);
  }

  put(sessionId: string, { theme, logPosition }: GrowingTheme): void {
    const { root: rootId, sum: centroidSum, ...counts } = theme;
    this.#put(THEME.stored({ rootId, sessionId, centroidSum, logPosition, ...counts }));
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
