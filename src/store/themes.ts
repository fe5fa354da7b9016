import { eq } from "drizzle-orm";
import { DamageError } from "../core/damage.ts";
import type { GrowingTheme } from "../forest/growing-forest.ts";
import { encodeVector } from "../vector/codec.ts";
import type { StoreDatabase } from "./open.ts";
import type { PastForests } from "./past-forests.ts";
import { isOnPathOf, type PathRepository } from "./paths.ts";
import { Repository } from "./repository.ts";
import { assertRising } from "./rising.ts";
import { themes } from "./schema.ts";
import { columns, type InsertOf, type RowOf } from "./statement.ts";
import type { UnionRepository } from "./unions.ts";

export const THEME = columns(themes);
type ThemeRow = RowOf<typeof THEME>;

export class ThemeRepository extends Repository {
  // Moves of the frontier and resumes run these.
  readonly #put = this.statement<
    Omit<InsertOf<typeof THEME>, "centroidSum"> & { centroidSum: Buffer }
  >`${THEME.upsert()}`;
  readonly #byRoot = this.statement<[root: number, sessionId: string], ThemeRow>`
    SELECT ${THEME} FROM themes WHERE root_id = ? AND session_id = ?`.map(growingTheme);
  readonly delete = this.statement<[root: number, sessionId: string]>`
    DELETE FROM themes WHERE root_id = ? AND session_id = ?`.run;
  readonly #own = this.statement<[sessionId: string], ThemeRow>`
    SELECT ${THEME} FROM themes WHERE session_id = ? ORDER BY root_id`.map(growingTheme);
  readonly #isRoot = this.statement<{ sessionId: string; root: number }, number>`
    SELECT EXISTS (SELECT 1 FROM themes t WHERE t.root_id = @root
      AND ${isOnPathOf("@sessionId", "t", "t.log_position")})`.pluck().one;
  readonly #paths: PathRepository;
  readonly #unions: UnionRepository;
  readonly #pastForests: PastForests;

  constructor(database: StoreDatabase, paths: PathRepository, unions: UnionRepository, pastForests: PastForests) {
    super(database);
    this.#paths = paths;
    this.#unions = unions;
    this.#pastForests = pastForests;
  }

  /** The rows of a session itself, oldest root first. @throws {DamageError} if the index names one twice. */
  own(sessionId: string): GrowingTheme[] {
    const rows = this.#own.all(sessionId);
    assertRising(rows, ({ theme }) => theme.root, "theme");
    return rows;
  }

  /** Oldest root first. */
  ofSession(sessionId: string): readonly GrowingTheme[] {
    const grower = this.#paths.grower(sessionId);
    return grower === undefined ? this.#pastForests.of(sessionId)!.themes : this.own(grower.sessionId);
  }

  byRoot(sessionId: string, root: number): GrowingTheme | undefined {
    const grower = this.#paths.grower(sessionId);
    if (grower !== undefined) return this.#byRoot.get(root, grower.sessionId);
    return this.#pastForests.of(sessionId)!.themes.find(({ theme }) => theme.root === root);
  }

  /**
   * The unite that absorbed a root; undefined while it is the root of a theme.
   *
   * @throws {DamageError} if it is not the root of a theme either.
   */
  uniteOf(sessionId: string, root: number): { root: number; position: number } | undefined {
    const unite = this.#unions.unite({ sessionId, root });
    if (unite?.node === root) return { root: unite.root, position: unite.id };
    // The primary key of another table tells if the index of the log lacks a row.
    if (unite === undefined && (this.#isRoot({ sessionId, root }) === 1 || this.byRoot(sessionId, root)))
      return undefined;
    throw new DamageError(`${root} is the root of no theme, and the log does not say which theme absorbed it`);
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
