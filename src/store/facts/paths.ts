import { DamageError } from "../../core/damage.ts";
import { StoreError } from "../../core/errors.ts";
import type { StoreDatabase } from "../file/open.ts";
import { Repository } from "../file/repository.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import { GENERATION_NOW } from "./generations.ts";

/** A part of a path: messages from one seq to another, both included, and the rows of the log up to a position. */
export interface Piece {
  sessionId: string;
  seqFirst: number;
  seqLast: number;
  logPosition: number;
}

interface Place {
  sessionId: string;
  seq: number;
}

/** What makes a session, oldest first: the parts of other sessions that a fork shares, and what the session holds itself. */
export type Path = readonly Piece[];

const LAST = Number.MAX_SAFE_INTEGER;

const PAST = columns(TABLES.sharedPasts);
const ORIGIN = columns(TABLES.sessions, "id", "parentSessionId", "forkSeq", "supersededAtMs");

/** SQL: a row of `sessions` is a session. The others hold messages that a session has superseded. */
export const IS_SESSION = "superseded_at_ms IS NULL";
/** SQL: the ids of the rows that hold superseded messages. They are few. */
export const BRANCHES = "(SELECT id FROM sessions WHERE superseded_at_ms IS NOT NULL)";

export function withBranches(session: string): string {
  return `(SELECT id FROM sessions WHERE id = ${session} OR (parent_session_id = ${session} AND superseded_at_ms IS NOT NULL))`;
}

/** SQL: the ids of a session and of those that it shares. */
export function holdersOf(session: string): string {
  return `(SELECT ${session} UNION ALL SELECT holder_id FROM shared_pasts WHERE session_id = ${session})`;
}

/** SQL: the last seq that a session shares, or -1. */
export function sharedSeqOf(session: string): string {
  return `coalesce((SELECT max(seq_last) FROM shared_pasts WHERE session_id = ${session}), -1)`;
}

/** SQL: the session `session` holds or shares the row `table`, which is at the log position `position`. */
export function isOnPathOf(session: string, table: string, position = `${table}.id`): string {
  return `(${table}.session_id = ${session} OR ${position} <= (
    SELECT p.log_position FROM shared_pasts p WHERE p.session_id = ${session} AND p.holder_id = ${table}.session_id))`;
}

export class PathRepository extends Repository {
  // Every read of a session runs it.
  readonly #past = this.statement<[sessionId: string], RowOf<typeof PAST>>`
    SELECT ${PAST} FROM shared_pasts WHERE session_id = ? ORDER BY seq_first`.all;
  readonly #origin = this.statement<[sessionId: string], RowOf<typeof ORIGIN>>`
    SELECT ${ORIGIN} FROM sessions WHERE id = ?`;
  readonly #insert = this.statement<InsertOf<typeof PAST>>`${PAST.insert()}`;
  readonly #sharing = this.statement<[holderId: string, seq: number], string>`
    SELECT session_id FROM shared_pasts WHERE holder_id = ? AND seq_last > ? ORDER BY session_id`.pluck();
  readonly #sharingLog = this.statement<[holderId: string, position: number], string>`
    SELECT session_id FROM shared_pasts WHERE holder_id = ? AND log_position >= ? ORDER BY session_id`.pluck();
  readonly forkIds = this.statement<[], string>`SELECT DISTINCT session_id FROM shared_pasts`.pluck().all;
  /** How many sessions a fork shares messages of; 0 for other sessions. */
  readonly sharedCount = this.statement<[sessionId: string], number>`
    SELECT count(*) FROM shared_pasts WHERE session_id = ?`.pluck().one;
  readonly #hasThemes = this.statement<[sessionId: string], number>`
    SELECT EXISTS (SELECT 1 FROM themes WHERE session_id = ?)`.pluck().one;
  readonly #hasMoved = this.statement<[sessionId: string, position: number], number>`
    SELECT EXISTS (
      SELECT 1 FROM unions
      WHERE session_id = ? AND id > ? AND level <> 'subject' AND generation = ${GENERATION_NOW})`.pluck().one;
  /** The forks that share messages after a seq. @throws {DamageError} if an index may hide one. */
  sharing(holderId: string, seq: number): string[] {
    this.rowCheck.assertWhole(TABLES.sharedPasts);
    return this.#sharing.all(holderId, seq);
  }

  /**
   * The session whose rows are the open clusters and themes of a session. Until the frontier of a fork moves, it is another one;
   * undefined if that one has moved since the fork.
   */
  grower(sessionId: string): Piece | undefined {
    const path = this.of(sessionId);
    if (path.length === 1) return path[0]!;
    for (const piece of path.toReversed()) {
      if (piece.sessionId !== sessionId && this.#hasMoved(piece.sessionId, piece.logPosition) === 1) return undefined;
      if (this.#hasThemes(piece.sessionId) === 1) return piece;
    }
    return path.at(-1)!;
  }

  /** @throws {DamageError} if a row about what a fork shares is damaged. */
  of(sessionId: string): Path {
    return withOwn(sessionId, this.#past(sessionId).map(pieceOf));
  }

  /** The parts of a session from one seq to another, both included, oldest first. */
  pieces(sessionId: string, seqFirst = 0, seqLast = LAST): Piece[] {
    return piecesIn(this.of(sessionId), seqFirst, seqLast);
  }

  /** What `read` finds in the newest part in which it finds anything. */
  newest<Found>(sessionId: string, read: (piece: Piece) => Found | undefined, seqLast = LAST): Found | undefined {
    return firstIn(this.pieces(sessionId, 0, seqLast).reverse(), read);
  }

  /** What `read` finds in the oldest part in which it finds anything. */
  oldest<Found>(sessionId: string, read: (piece: Piece) => Found | undefined): Found | undefined {
    return firstIn(this.of(sessionId), read);
  }

  /** True if a message is one of a session, which may share it. */
  has(sessionId: string, message: Place): boolean {
    if (message.sessionId === sessionId) return true;
    return this.past(sessionId).some((piece) => piece.sessionId === message.sessionId && message.seq <= piece.seqLast);
  }

  /** What a fork shares; empty for other sessions. @throws {DamageError} like `of`. */
  past(sessionId: string): Path {
    return this.of(sessionId).slice(0, -1);
  }

  /** The log position up to which a session shares the log of others; 0 if it shares nothing. */
  sharedTo(sessionId: string): number {
    return this.past(sessionId).at(-1)?.logPosition ?? 0;
  }

  /** The sessions whose log has a row: the one that holds it, and the forks that share it. @throws {DamageError} like `sharing`. */
  withRow(holderId: string, position: number): string[] {
    this.rowCheck.assertWhole(TABLES.sharedPasts);
    return [holderId, ...this.#sharingLog.all(holderId, position)];
  }

  /**
   * For changes and `verify`: a fork that has lost its past would give seqs again. A branch has a `forkSeq` and shares nothing.
   *
   * @throws {DamageError} if a fork does not share what its session had.
   */
  assertPast(sessionId: string): void {
    const { parentSessionId = null, forkSeq = null, supersededAtMs = null } = this.#origin.get(sessionId) ?? {};
    const past = this.#past(sessionId).map(pieceOf);
    if (past.length === 0) {
      if (forkSeq !== null && supersededAtMs === null) this.rowCheck.assertWhole(TABLES.sharedPasts);
      return;
    }
    // A parent can be forgotten if it holds nothing of what the fork shares. The newest holder shares the same.
    const sharedId = parentSessionId ?? past.at(-1)!.sessionId;
    const isKnown = parentSessionId !== null || this.#origin.get(sharedId) !== undefined;
    if (forkSeq === null || !isKnown) throw new DamageError(`fork ${sessionId} has no origin`);
    const expected = piecesIn(withOwn(sharedId, this.#past(sharedId).map(pieceOf)), 0, forkSeq);
    const isRight = (piece: Piece, index: number): boolean => {
      const { sessionId: id, seqFirst, seqLast, logPosition } = expected[index]!;
      if (piece.sessionId !== id || piece.seqFirst !== seqFirst || piece.seqLast !== seqLast) return false;
      return piece.logPosition === logPosition || index === past.length - 1;
    };
    if (past.length === expected.length && past.every(isRight)) return;
    throw new DamageError(`fork ${sessionId} does not share what session ${sharedId} had up to seq ${forkSeq}`);
  }

  share(sessionId: string, past: Path): void {
    for (const { sessionId: holderId, ...piece } of past) this.#insert.run({ sessionId, holderId, ...piece });
  }

  /** @throws {StoreError} `SESSION_SHARED` if a fork shares a message of the session after this seq. */
  assertUnshared(sessionId: string, seq: number, operation: "rewind" | "forget" | "change"): void {
    const [forkId] = this.sharing(sessionId, seq);
    if (forkId !== undefined) throw new StoreError("SESSION_SHARED", { sessionId, forkId, operation });
  }

  /** @throws {StoreError} `SESSION_SHARED` if a message or an entry is in the past of a fork, or the fork's own past holds it. */
  assertUnsharedMessage(sessionId: string, message: Place, operation: "forget" | "change"): void {
    if (message.sessionId === sessionId) this.assertUnshared(sessionId, message.seq - 1, operation);
    else if (this.has(sessionId, message)) {
      throw new StoreError("SESSION_SHARED", { sessionId: message.sessionId, forkId: sessionId, operation });
    }
  }

  /** @throws {StoreError} `SESSION_SHARED` for a fork, whose rows are not the whole session. */
  assertWhole(forkId: string): void {
    const [holder] = this.past(forkId);
    if (holder === undefined) return;
    throw new StoreError("SESSION_SHARED", { sessionId: holder.sessionId, forkId, operation: "move" });
  }

  /** @throws {StoreError} `OPTION_INVALID` if a fork would go back into what it shares. */
  assertOwn(forkId: string, seq: number): void {
    const { sessionId, seqLast } = this.past(forkId).at(-1) ?? { sessionId: "", seqLast: -1 };
    if (seq >= seqLast) return;
    const expected = `a seq from ${seqLast} on, where the fork begins; to go further back, fork session "${sessionId}"`;
    throw new StoreError("OPTION_INVALID", { option: "toSeq", expected, actual: seq });
  }
}

function pieceOf({ holderId, seqFirst, seqLast, logPosition }: RowOf<typeof PAST>): Piece {
  return { sessionId: holderId, seqFirst, seqLast, logPosition };
}

function withOwn(sessionId: string, past: readonly Piece[]): Piece[] {
  const seqFirst = past.length === 0 ? 0 : past.at(-1)!.seqLast + 1;
  return [...past, { sessionId, seqFirst, seqLast: LAST, logPosition: LAST }];
}

/** SQL: the session of the cluster `c` began it. A fork has rows for clusters of its past, too. */
export const IS_BEGUN_HERE = `(c.session_id NOT IN (SELECT session_id FROM shared_pasts)
  OR c.session_id = (SELECT m.session_id FROM messages m WHERE m.id = c.root_id))`;

function piecesIn(path: Path, seqFirst: number, seqLast: number): Piece[] {
  if (path.length === 1) return [{ ...path[0]!, seqFirst, seqLast }];
  return path.flatMap((piece) => {
    const [first, last] = [Math.max(seqFirst, piece.seqFirst), Math.min(seqLast, piece.seqLast)];
    return first > last ? [] : [{ ...piece, seqFirst: first, seqLast: last }];
  });
}

function firstIn<Found>(path: Path, read: (piece: Piece) => Found | undefined): Found | undefined {
  for (const piece of path) {
    const found = read(piece);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the first `limit` rows of some pieces. @param read  Is told how many are still wanted. */
export function rowsIn<Row>(path: Path, limit: number, read: (piece: Piece, limit: number) => Row[]): Row[] {
  let rows: Row[] = [];
  for (const piece of path) {
    if (rows.length >= limit) break;
    const found = read(piece, limit - rows.length);
    rows = rows.length === 0 ? found : rows.concat(found);
  }
  return rows;
}

/** A repository that reads sessions part by part. */
export abstract class PathReader extends Repository {
  protected readonly paths: PathRepository;

  constructor(database: StoreDatabase, paths: PathRepository) {
    super(database);
    this.paths = paths;
  }
}
