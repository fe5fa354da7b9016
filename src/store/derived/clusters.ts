import { DamageError } from "../../core/damage.ts";
import { GENERATION_NOW } from "../facts/generations.ts";
import { isOnPathOf, PathReader, type PathRepository } from "../facts/paths.ts";
import type { StoreDatabase } from "../file/open.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import {
  CLUSTER,
  type ClusterRow,
  type ClusterState,
  clusterRow,
  type StoredCluster,
  storedCluster,
} from "./cluster-rows.ts";
import type { PastForests } from "./past-forests.ts";

const SIZE = columns(TABLES.clusters, "rootId", "tokenCount", "settledAt", "logPosition");
/** A cluster with the time of its first message. */
export type DatedCluster = ClusterRow & { firstAtMs: number };

/** A session, and the one whose rows hold its open clusters: see `PathRepository.grower`. */
type Grown = { sessionId: string; growerId: string; position: number };

/**
 * SQL for `own`: the rows of a session's clusters, with those that had settled when it forked, and for `up`: each of them with every
 * root on the way to its theme's root.
 */
const OWN = `own(root_id, session_id) AS (
      SELECT root_id, session_id FROM clusters WHERE session_id = @growerId AND log_position <= @position
      UNION ALL
      SELECT c.root_id, c.session_id
      FROM shared_pasts p JOIN clusters c ON c.session_id = p.holder_id AND c.settled_at <= p.log_position
      WHERE p.session_id = @sessionId AND p.holder_id <> @growerId
    )`;
const UP = `WITH RECURSIVE ${OWN},
    up(cluster, root) AS (
      SELECT root_id, root_id FROM own
      UNION
      SELECT up.cluster, u.root FROM up JOIN unions u ON u.node = up.root AND u.kind = 'unite' AND u.level <> 'subject'
        AND u.generation = ${GENERATION_NOW} AND ${isOnPathOf("@sessionId", "u")}
    )`;
/** SQL: the cluster `c` with its theme `t`. */
const WITH_THEME = `own
    JOIN clusters c ON c.root_id = own.root_id AND c.session_id = own.session_id
    JOIN up ON up.cluster = c.root_id
    JOIN themes t ON t.root_id = up.root AND t.session_id = @growerId`;

export class ClusterRepository extends PathReader {
  // Moves of the frontier, resumes and renders run these.
  readonly #put = this.statement<[Record<string, unknown>]>`
    ${CLUSTER.upsert("settledAt", "subjectParentId")}`.run;
  readonly settle = this.statement<[position: number, root: number, sessionId: string]>`
    UPDATE clusters SET settled_at = ? WHERE root_id = ? AND session_id = ?`.run;
  readonly delete = this.statement<[root: number, sessionId: string]>`
    DELETE FROM clusters WHERE root_id = ? AND session_id = ?`.run;
  readonly deleteOf = this.statement<[sessionId: string]>`DELETE FROM clusters WHERE session_id = ?`.run;
  readonly deleteAll = this.statement`DELETE FROM clusters`.run;
  readonly reopen = this.statement<[root: number, sessionId: string]>`
    UPDATE clusters SET settled_at = NULL, subject_parent_id = NULL WHERE root_id = ? AND session_id = ?`.run;
  readonly #open = this.statement<[sessionId: string, position: number], ClusterRow>`
    SELECT ${CLUSTER} FROM clusters WHERE session_id = ? AND settled_at IS NULL AND log_position <= ? ORDER BY root_id`.map(
    storedCluster,
  );
  /** The rows of a session itself, oldest root first. */
  readonly ofSession = this.statement<[sessionId: string], ClusterRow>`
    SELECT ${CLUSTER} FROM clusters WHERE session_id = ? ORDER BY root_id`.map(storedCluster).all;
  readonly #sizesOf = this.statement<Grown, RowOf<typeof SIZE>>`
    WITH ${OWN} SELECT ${SIZE.of("c")}
    FROM own JOIN clusters c ON c.root_id = own.root_id AND c.session_id = own.session_id ORDER BY c.root_id`;
  readonly #settledAtFork = this.statement<Pick<Grown, "sessionId">, ClusterRow>`
    SELECT ${CLUSTER.of("c")}
    FROM shared_pasts p JOIN clusters c ON c.session_id = p.holder_id AND c.settled_at <= p.log_position
    WHERE p.session_id = @sessionId`;
  /** A cluster as the session has it that began it. */
  readonly begun = this.statement<[root: number], ClusterRow>`
    SELECT ${CLUSTER.of("c")} FROM messages m JOIN clusters c ON c.root_id = m.id AND c.session_id = m.session_id
    WHERE m.id = ?`.get;
  readonly countOf = this.statement<[sessionId: string], number>`
    SELECT count(*) FROM clusters WHERE session_id = ?`.pluck().one;
  readonly #find = this.statement<{ sessionId: string; root: number }, ClusterRow>`
    SELECT ${CLUSTER.of("c")} FROM clusters c
    LEFT JOIN shared_pasts held ON held.session_id = @sessionId AND held.holder_id = c.session_id
    WHERE c.root_id = @root AND (c.session_id = @sessionId OR c.log_position <= held.log_position)
    ORDER BY held.seq_first IS NOT NULL, held.seq_first DESC LIMIT 1`;
  // Recursive.
  readonly #withThemes = this.statement<Grown, ClusterRow & { themeRoot: number }>`
    ${UP} SELECT ${CLUSTER.of("c")}, up.root AS themeRoot FROM ${WITH_THEME} ORDER BY c.seq_first`;
  readonly #pastForests: PastForests;

  constructor(database: StoreDatabase, paths: PathRepository, pastForests: PastForests) {
    super(database, paths);
    this.#pastForests = pastForests;
  }

  /** Undefined if no session has rows for what is open: see `PathRepository.grower`. */
  #grown(sessionId: string): Grown | undefined {
    const grower = this.paths.grower(sessionId);
    return grower && { sessionId, growerId: grower.sessionId, position: grower.logPosition };
  }

  /** Oldest root first. */
  open(sessionId: string): readonly StoredCluster[] {
    const grown = this.#grown(sessionId);
    return grown === undefined
      ? this.#pastForests.of(sessionId)!.open()
      : this.#open.all(grown.growerId, grown.position);
  }

  /** All clusters of a session, with those that it shares, oldest root first. */
  sizesOf(sessionId: string): RowOf<typeof SIZE>[] {
    const grown = this.#grown(sessionId);
    if (grown !== undefined) return this.#sizesOf.all(grown);
    return this.#atFork(sessionId).sort((left, right) => left.rootId - right.rootId);
  }

  /** Every cluster of a session with its theme, oldest first. */
  withThemes(sessionId: string): (ClusterRow & { themeRoot: number })[] {
    const grown = this.#grown(sessionId);
    if (grown !== undefined) return this.#withThemes.all(grown);
    const { themeOf } = this.#pastForests.of(sessionId)!;
    const rows = this.#atFork(sessionId).map((row) => ({ ...row, themeRoot: themeOf(row.rootId) }));
    return rows.sort((left, right) => left.seqFirst - right.seqFirst);
  }

  /** All clusters of a fork that has no rows of its own yet. */
  #atFork(sessionId: string): ClusterRow[] {
    const open = this.#pastForests
      .of(sessionId)!
      .open()
      .map((state) => clusterRow(sessionId, state));
    return [...this.#settledAtFork.all({ sessionId }), ...open];
  }

  /** A cluster as a session has it; a fork may share it. */
  find(sessionId: string, root: number): ClusterRow | undefined {
    const state = this.#pastForests
      .of(sessionId)
      ?.open()
      .find(({ cluster }) => cluster.root === root);
    return state === undefined ? this.#find.get({ sessionId, root }) : clusterRow(sessionId, state);
  }

  /** @throws {DamageError} if there is no such row, although the log knows the cluster. */
  byRoot(sessionId: string, root: number): ClusterRow {
    const row = this.find(sessionId, root);
    if (row === undefined) throw new DamageError(`cluster ${root} has no row`);
    return row;
  }

  put(sessionId: string, { cluster, label, logPosition }: ClusterState): void {
    const { root: rootId, sum: centroidSum, ...counts } = cluster;
    this.#put(CLUSTER.stored({ rootId, sessionId, centroidSum, ...counts, label, logPosition }));
  }
}
