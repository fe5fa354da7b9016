import { and, asc, eq, gt, sql } from "drizzle-orm";
import type { SubjectCluster, SubjectRow } from "../forest/subjects.ts";
import { isUsable, normalize } from "../vector/vector.ts";
import { GENERATION_AT } from "./generations.ts";
import type { StoreDatabase } from "./open.ts";
import { clusters, sessions } from "./schema.ts";

/** A cluster that takes no more members. */
export interface SettledCluster {
  cluster: SubjectCluster;
  /** Log position. */
  settledAt: number;
  /** The root of its subject; null until it has been placed among the subjects. */
  subject: number | null;
}

/** A cluster that went to its place among the subjects. */
export interface PlacedCluster {
  root: number;
  sessionId: string;
  /** The root of its subject: its own where it starts one. */
  subject: number;
  /** Of a unite: what decided. */
  similarity: number | undefined;
}

/** What a subject holds of one session. */
export interface SubjectSession {
  sessionId: string;
  title: string | null;
  messageCount: number;
  firstAtMs: number;
  lastAtMs: number;
}

/** A subject as lists show it. */
export interface SubjectOverview {
  root: number;
  project: string | null;
  clusterCount: number;
  sessionCount: number;
  messageCount: number;
  tokenCount: number;
}

/** Settled clusters that have no place among the subjects. Two indexes answer this, and no row is looked at. */
const UNPLACED = `SELECT root_id FROM clusters WHERE settled_at IS NOT NULL
  AND root_id NOT IN (SELECT root_id FROM clusters WHERE subject_parent_id IS NOT NULL)`;

/**
 * A unite counts at a position unless the cluster was dissolved in between: then it is from an earlier order of things.
 * `u` is the row of the log.
 */
const STANDS = `u.level = 'subject' AND u.kind = 'unite' AND u.id <= @position AND u.generation = ${GENERATION_AT}
  AND NOT EXISTS (SELECT 1 FROM unions d WHERE d.level = 'subject' AND d.node = u.node AND d.kind = 'dissolve'
                  AND d.id > u.id AND d.id <= @position AND d.generation = u.generation)`;

/**
 * The rows of the log about subjects, and `clusters.subject_parent_id`.
 *
 * A project is the scope of its subjects; the sessions without a project are one scope, too.
 */
export class SubjectRepository {
  readonly #scopesToPlace;
  readonly #isComplete;
  readonly #settledAfter;
  readonly #isDissolvedAfter;
  readonly #add;
  readonly #setRoot;
  readonly #firstSettled;
  readonly #placedFrom;
  readonly #ofSession;
  readonly #deleteUnitesUnder;
  readonly #deleteOf;
  readonly #renameNode;
  readonly #renameRoot;
  readonly #rootOf;
  readonly #started;
  readonly #rootAt;
  readonly #messageIds;
  readonly #longLived;
  readonly #sessionsOf;
  readonly #labelsOf;
  readonly #strayCount;
  readonly #crossingCount;

  constructor({ orm, client }: StoreDatabase) {
    this.#scopesToPlace = client
      .prepare<[], string | null>(
        `SELECT DISTINCT s.project FROM clusters c JOIN sessions s ON s.id = c.session_id WHERE c.root_id IN (${UNPLACED})
         ORDER BY s.project`,
      )
      .pluck();
    // Only what has settled has a place. Counting along two indexes takes a tenth of comparing them.
    this.#isComplete = client
      .prepare<[], number>(
        `SELECT (SELECT count(*) FROM clusters WHERE settled_at IS NOT NULL)
              = (SELECT count(*) FROM clusters WHERE subject_parent_id IS NOT NULL)`,
      )
      .pluck();
    // Along the index of what has settled, from a position on: the plus keeps SQLite from beginning with the sessions.
    this.#settledAfter = orm
      .select({
        root: clusters.rootId,
        sessionId: clusters.sessionId,
        centroidSum: clusters.centroidSum,
        settledAt: sql<number>`${clusters.settledAt}`,
        subject: clusters.subjectParentId,
      })
      .from(clusters)
      .innerJoin(sessions, eq(sessions.id, clusters.sessionId))
      .where(
        and(
          gt(clusters.settledAt, sql.placeholder("position")),
          sql`+${sessions.project} is ${sql.placeholder("project")}`,
        ),
      )
      .orderBy(asc(clusters.settledAt))
      .limit(sql.placeholder("limit"))
      .prepare();
    // By position: what has come since is little beside what was ever dissolved.
    this.#isDissolvedAfter = client
      .prepare<[number], number>(
        "SELECT EXISTS (SELECT 1 FROM unions NOT INDEXED WHERE id > ? AND level = 'subject' AND kind = 'dissolve')",
      )
      .pluck();
    this.#add = client.prepare<[number, string, number, SubjectRow["kind"], number, number, number | null]>(
      "INSERT INTO unions (id, session_id, generation, level, kind, node, root, score) VALUES (?, ?, ?, 'subject', ?, ?, ?, ?)",
    );
    this.#setRoot = client.prepare<[number | null, number]>(
      "UPDATE clusters SET subject_parent_id = ? WHERE root_id = ?",
    );
    this.#firstSettled = client
      .prepare<[string], number | null>("SELECT min(settled_at) FROM clusters WHERE session_id = ?")
      .pluck();
    this.#placedFrom = client.prepare<[number, string | null], { root: number; sessionId: string }>(
      `SELECT c.root_id AS root, c.session_id AS sessionId FROM clusters c JOIN sessions s ON s.id = c.session_id
       WHERE c.settled_at >= ? AND c.subject_parent_id IS NOT NULL AND s.project IS ? ORDER BY c.settled_at`,
    );
    this.#ofSession = client.prepare<[string, number], SubjectRow>(
      `SELECT id, kind, node, root FROM unions
       WHERE session_id = ? AND generation = ? AND level = 'subject' ORDER BY id`,
    );
    this.#deleteUnitesUnder = client.prepare<[number, string]>(
      `DELETE FROM unions
       WHERE level = 'subject' AND generation = ? AND kind = 'unite' AND root IN (SELECT value FROM json_each(?))`,
    );
    this.#deleteOf = client.prepare<[number, string]>(
      "DELETE FROM unions WHERE level = 'subject' AND generation = ? AND node IN (SELECT value FROM json_each(?))",
    );
    this.#renameNode = client.prepare<[number, number, number]>(
      "UPDATE unions SET node = ? WHERE node = ? AND generation = ? AND level = 'subject'",
    );
    this.#renameRoot = client.prepare<[number, number, number]>(
      "UPDATE unions SET root = ? WHERE root = ? AND generation = ? AND level = 'subject'",
    );
    this.#rootOf = client
      .prepare<[number], number | null>("SELECT subject_parent_id FROM clusters WHERE root_id = ?")
      .pluck();
    this.#started = client
      .prepare<{ root: number; position: number }, number>(
        `SELECT min(id) FROM unions WHERE node = @root AND level = 'subject' AND generation = ${GENERATION_AT}`,
      )
      .pluck();
    this.#rootAt = client
      .prepare<{ cluster: number; position: number }, number | null>(
        `SELECT CASE kind WHEN 'dissolve' THEN NULL ELSE root END FROM unions
         WHERE node = @cluster AND level = 'subject' AND id <= @position AND generation = ${GENERATION_AT}
         ORDER BY id DESC LIMIT 1`,
      )
      .pluck();
    this.#messageIds = client
      .prepare<{ root: number; position: number }, number>(
        `SELECT m.id
         FROM (SELECT @root AS cluster UNION ALL SELECT u.node FROM unions u WHERE u.root = @root AND ${STANDS}) c
         JOIN unions e ON e.root = c.cluster AND e.level = 'cluster' AND e.kind IN ('start', 'join')
           AND e.generation = ${GENERATION_AT}
         JOIN messages m ON m.id = e.node OR (m.step_id = e.node AND m.step_id <> m.id)
         JOIN sessions s ON s.id = m.session_id
         ORDER BY s.created_at_ms, s.id, m.seq`,
      )
      .pluck();
    this.#longLived = client.prepare<{ project: string | null; limit: number }, SubjectOverview>(
      `SELECT c.subject_parent_id AS root, s.project, count(*) AS clusterCount,
              count(DISTINCT c.session_id) AS sessionCount, sum(c.message_count) AS messageCount,
              sum(c.token_count) AS tokenCount
       FROM clusters c JOIN sessions s ON s.id = c.session_id
       WHERE c.subject_parent_id IS NOT NULL AND (@project IS NULL OR s.project = @project)
       GROUP BY c.subject_parent_id HAVING sessionCount > 1
       ORDER BY tokenCount DESC, root LIMIT @limit`,
    );
    // A cluster's root is its first message.
    this.#sessionsOf = client.prepare<[number], SubjectSession>(
      `SELECT s.id AS sessionId, s.title, sum(c.message_count) AS messageCount, min(first.created_at_ms) AS firstAtMs,
              max(last.created_at_ms) AS lastAtMs
       FROM clusters c
       JOIN sessions s ON s.id = c.session_id
       JOIN messages first ON first.id = c.root_id
       JOIN messages last ON last.session_id = c.session_id AND last.seq = c.seq_last
       WHERE c.subject_parent_id = ?
       GROUP BY s.id ORDER BY firstAtMs, s.id`,
    );
    this.#labelsOf = client
      .prepare<[number], string>("SELECT label FROM clusters WHERE subject_parent_id = ? ORDER BY settled_at")
      .pluck();
    this.#crossingCount = client
      .prepare<[], number>(
        `SELECT count(*) FROM clusters c
         JOIN sessions s ON s.id = c.session_id
         JOIN clusters r ON r.root_id = c.subject_parent_id
         JOIN sessions rs ON rs.id = r.session_id
         WHERE c.subject_parent_id <> c.root_id AND rs.project IS NOT s.project`,
      )
      .pluck();
    this.#strayCount = client
      .prepare<[], number>(
        `SELECT count(*) FROM unions u WHERE u.level = 'subject' AND u.kind = 'unite' AND NOT EXISTS (
           SELECT 1 FROM unions s WHERE s.level = 'subject' AND s.node = u.root AND s.kind = 'start' AND s.id < u.id
             AND s.generation = u.generation)`,
      )
      .pluck();
  }

  /** Projects in which a settled cluster waits for its place; null stands for the sessions without one. */
  scopesToPlace(): (string | null)[] {
    return this.#isComplete.get() === 1 ? [] : this.#scopesToPlace.all();
  }

  /** Clusters of a project that settled after a log position, in that order: it is the one in which they are placed. */
  settledAfter(project: string | null, position: number, limit: number): SettledCluster[] {
    return this.#settledAfter.all({ project, position, limit }).map(({ settledAt, subject, ...row }) => ({
      cluster: subjectCluster(row),
      settledAt,
      subject,
    }));
  }

  /** Whether any cluster of any project has lost its place after a log position. */
  isDissolvedAfter(position: number): boolean {
    return this.#isDissolvedAfter.get(position) === 1;
  }

  /** Note a cluster's place, in one or two rows of the log from `position` on. @returns the position after the last. */
  place(generation: number, position: number, { root, sessionId, subject, similarity }: PlacedCluster): number {
    this.#add.run(position, sessionId, generation, "start", root, root, null);
    if (subject !== root)
      this.#add.run(position + 1, sessionId, generation, "unite", root, subject, similarity ?? null);
    this.setRoot(root, subject);
    return position + (subject === root ? 1 : 2);
  }

  /** @param subject  The root of its subject; null while it has no place. */
  setRoot(cluster: number, subject: number | null): void {
    this.#setRoot.run(subject, cluster);
  }

  /** Log position at which the first cluster of a session settled; undefined if none has. */
  firstSettled(sessionId: string): number | undefined {
    return this.#firstSettled.get(sessionId) ?? undefined;
  }

  /**
   * Take their places from all clusters of a project that settled at a position or later. They are the ones whose places
   * depend on what was placed there.
   *
   * @param position  Of the first row that this adds to the log.
   */
  dissolveFrom(project: string | null, settledFrom: number, generation: number, position: number): void {
    this.#placedFrom.all(settledFrom, project).forEach(({ root, sessionId }, index) => {
      this.#add.run(position + index, sessionId, generation, "dissolve", root, root, null);
      this.setRoot(root, null);
    });
  }

  /** The log's rows of a generation about the clusters of a session. */
  ofSession(sessionId: string, generation: number): SubjectRow[] {
    return this.#ofSession.all(sessionId, generation);
  }

  /** Clusters of a generation are gone: so is what the log says of them and of others that were with them. */
  forget(generation: number, clusters: readonly number[]): void {
    const ids = JSON.stringify(clusters);
    this.#deleteUnitesUnder.run(generation, ids);
    this.#deleteOf.run(generation, ids);
  }

  /** A cluster of a generation lost its first step, which named it. */
  rename(generation: number, from: number, to: number): void {
    this.#renameNode.run(to, from, generation);
    this.#renameRoot.run(to, from, generation);
  }

  /** The root of the subject that a cluster is in now; undefined while it has no place. */
  rootOf(cluster: number): number | undefined {
    return this.#rootOf.get(cluster) ?? undefined;
  }

  /** Log position at which a cluster first came to a place in the generation of a position; undefined if it never has. */
  started(root: number, position: number): number | undefined {
    return this.#started.get({ root, position }) ?? undefined;
  }

  /** The root of the subject that a cluster was in at a position; undefined while it had no place. */
  rootAt(cluster: number, position: number): number | undefined {
    return this.#rootAt.get({ cluster, position }) ?? undefined;
  }

  /** Messages that a subject of this root held at a position: the sessions in the order of their making, each in its own. */
  messageIds(root: number, position: number): number[] {
    return this.#messageIds.all({ root, position });
  }

  /** Subjects of at least two sessions, the largest first: by tokens, for what recurs most often is boilerplate. */
  longLived(project: string | undefined, limit: number): SubjectOverview[] {
    return this.#longLived.all({ project: project ?? null, limit });
  }

  /** The sessions that a subject is about, the one in which it began first. */
  sessionsOf(root: number): SubjectSession[] {
    return this.#sessionsOf.all(root);
  }

  /** Of a subject's clusters, in the order in which they came to it. */
  labelsOf(root: number): string[] {
    return this.#labelsOf.all(root);
  }

  /** Clusters that are in a subject of another project. */
  crossingCount(): number {
    return this.#crossingCount.get()!;
  }

  /** Rows of the log that unite a cluster with a subject that had not begun. */
  strayCount(): number {
    return this.#strayCount.get()!;
  }
}

function subjectCluster(row: { root: number; sessionId: string; centroidSum: Float32Array }): SubjectCluster {
  const { root, sessionId, centroidSum } = row;
  return { root, sessionId, direction: isUsable(centroidSum) ? normalize(centroidSum) : undefined };
}
