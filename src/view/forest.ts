import { StoreError } from "../core/errors.ts";
import { parseHandle } from "../core/handle.ts";
import type { Store } from "../index.ts";
import { sessionIds } from "../session/aids/session-ids.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { ForestAnswer, ForestRoot, LogAnswer, WhyAnswer } from "./api.ts";
import { isOfForest, isOfSession, sql } from "./sql.ts";

const LEVEL_LETTER: Record<string, string> = { cluster: "c", theme: "t", subject: "b" };
const KIND_LETTER: Record<string, string> = { start: "s", join: "j", settle: "e", unite: "u", dissolve: "d" };

export function forestAnswer(store: Store, id: string): ForestAnswer {
  const session = store.resume(id);
  const themes = session.roots();
  const clusters = session.roots({ level: "cluster" });
  const ofSession = isOfSession(store, id);
  const [row] = store.query(sql`
    SELECT s.graduated_seq, s.evicted_seq,
      (SELECT max(seq) + 1 FROM messages WHERE ${ofSession}) AS seq_end,
      (SELECT max(u.id) FROM unions u WHERE ${isOfForest(store, id, "u", "id")} AND level <> 'subject') AS log_position,
      (SELECT sum(token_count) FROM messages WHERE ${ofSession} AND seq >= s.evicted_seq) AS hot_token_count
    FROM sessions s WHERE s.id = ${id}`);
  const number = (name: string): number => Number(row?.[name] ?? 0);
  const statement = sql`
    SELECT c.root_id, c.label, c.message_count, c.token_count, c.seq_first, c.seq_last, c.last_at_ms, c.settled_at,
      c.subject_parent_id, (SELECT created_at_ms FROM messages WHERE id = c.root_id) AS first_at_ms
    FROM clusters c WHERE ${isOfForest(store, id, "c", "log_position")} ORDER BY c.seq_first, c.log_position`;
  const rows = new Map(store.query(statement).map((cluster) => [Number(cluster.root_id), cluster]));
  const shared = subjectsWithOthers(store, id);
  const themeOf = new Map(
    themes.flatMap(({ root, clusters: of }) => of.map((handle) => [handle, parseHandle(root).root])),
  );
  return {
    session: id,
    seqEnd: number("seq_end"),
    evictedSeq: number("evicted_seq"),
    graduatedSeq: number("graduated_seq"),
    logPosition: number("log_position"),
    hotTokenCount: number("hot_token_count"),
    themes: themes.map((theme) => ({
      ...rootOf(theme),
      clusters: theme.clusters.map((handle) => parseHandle(handle).root),
      summaryCount: theme.summaries.length,
      uncoveredCount: theme.uncoveredCount,
    })),
    clusters: clusters.map((cluster) => {
      const named = rootOf(cluster);
      const dated = rows.get(named.root);
      const subject = Number(dated?.subject_parent_id ?? 0);
      return {
        ...named,
        theme: themeOf.get(named.handle) ?? named.root,
        stepCount: cluster.stepCount ?? 0,
        isSettled: cluster.settled ?? false,
        subject: shared.has(subject) ? `subject:${subject}` : null,
        firstAtMs: Number(dated?.first_at_ms ?? 0),
        lastAtMs: Number(dated?.last_at_ms ?? 0),
      };
    }),
    sql: statement,
  };
}

function rootOf(info: Omit<ForestRoot, "handle" | "root"> & { root: string }): ForestRoot {
  const { root: handle, label, messageCount, tokenCount, seqFirst, seqLast } = info;
  return { handle, root: parseHandle(handle).root, label, messageCount, tokenCount, seqFirst, seqLast };
}

/** The subjects of a session's clusters that other sessions have, too. */
function subjectsWithOthers(store: Store, session: string): Set<number> {
  const rows = store.query(sql`
    SELECT c.subject_parent_id AS subject FROM clusters c
    WHERE ${isOfForest(store, session, "c", "log_position")} AND c.subject_parent_id IS NOT NULL AND EXISTS (
      SELECT 1 FROM clusters other
      WHERE other.subject_parent_id = c.subject_parent_id AND other.session_id <> c.session_id)`);
  return new Set(rows.map(({ subject }) => Number(subject)));
}

/** @throws {StoreError} `SESSION_NOT_FOUND`. */
export function logAnswer(store: Store, session: string, after: number, limit: number): LogAnswer {
  if (sessionIds(store, { prefix: session }).length === 0) {
    throw new StoreError("SESSION_NOT_FOUND", { sessionId: session });
  }
  const rows = store.query(sql`
    SELECT u.id, u.level, u.kind, u.node, u.root, u.score,
      step.seq AS seqFirst, last.seq AS seqLast,
      CASE WHEN step.id IS NULL THEN 0 ELSE step.token_count + coalesce((
        SELECT sum(token_count) FROM messages WHERE step_id = step.id AND step_id <> id), 0) END AS tokens
    FROM unions u
    LEFT JOIN messages step ON step.id = u.node AND u.level = 'cluster' AND u.kind IN ('start', 'join')
    LEFT JOIN messages last ON last.id = coalesce((
      SELECT max(id) FROM messages WHERE step_id = step.id AND step_id <> id), step.id)
    WHERE ${isOfForest(store, session, "u", "id")} AND u.id > ${after} AND u.level <> 'subject'
      AND u.generation = (SELECT max(id) FROM generations)
    ORDER BY u.id LIMIT ${limit}`);
  const numbers = (name: string, missing: number): number[] => rows.map((row) => Number(row[name] ?? missing));
  return {
    positions: numbers("id", 0),
    levels: rows.map(({ level }) => LEVEL_LETTER[String(level)] ?? "?").join(""),
    kinds: rows.map(({ kind }) => KIND_LETTER[String(kind)] ?? "?").join(""),
    nodes: numbers("node", 0),
    roots: numbers("root", 0),
    scores: rows.map(({ score }) => (typeof score === "number" ? Math.round(score * 1_000) / 1_000 : null)),
    seqsFirst: numbers("seqFirst", -1),
    seqsLast: numbers("seqLast", -1),
    tokenCounts: numbers("tokens", 0),
    next: rows.length < limit ? null : Number(rows.at(-1)!.id),
  };
}

/** Says in words why a row of the log is there. */
export function whyAnswer(store: Store, id: string, position: number): WhyAnswer {
  const [row] = store.query(sql`
    SELECT u.level, u.kind, u.node, u.root, u.score, u.session_id AS holder FROM unions u
    WHERE u.id = ${position} AND ${isOfForest(store, id, "u", "id")} AND u.level <> 'subject'`);
  if (row === undefined) {
    store.resume(id); // throws if there is no such session
    const expected = "a position of the session's log";
    throw new StoreError("OPTION_INVALID", { option: "position", expected, actual: position });
  }
  const kind = row.kind as WhyAnswer["kind"];
  const none = { similarity: null, isAdjacent: null, isSameTurn: null, speaker: null, seqFirst: null, seqLast: null };
  const score = typeof row.score === "number" ? row.score : null;
  if (kind === "settle") return { position, kind, score, ...none, text: `Cluster ${row.node} takes no more steps.` };
  if (kind === "unite") {
    const text = `Theme ${row.node} became a part of theme ${row.root}, because uniting these two cost least: ${shown(score)}.`;
    return { position, kind, score, ...none, text };
  }
  const session = internalsOf(store).resume(String(row.holder));
  const { cluster: _cluster, ...placement } = session.placement(position);
  return { position, ...placement, text: reasonOf(placement) };
}

function reasonOf(placement: Omit<WhyAnswer, "position" | "text">): string {
  const { kind, score, similarity, isAdjacent, isSameTurn, speaker } = placement;
  if (kind === "join" && score === null) {
    if (isSameTurn) return "It is work on the request that the cluster is about.";
    return speaker === "user" ? "The user goes on with what was just done." : "It goes on with the step before it.";
  }
  if (score === null)
    return "It starts a cluster, because it is a request of its own, or because no open one was near enough.";
  const structure = [
    ...(isAdjacent ? ["the cluster held the step before it"] : []),
    ...(isSameTurn ? ["the cluster's last step was of the same turn"] : []),
  ];
  const words = similarity === null ? "It has no vector" : `The words are similar by ${shown(similarity)}`;
  const rest = structure.length === 0 ? "" : `, and ${structure.join(", and ")}`;
  return `${words}${rest}. Together that is a score of ${shown(score)}.`;
}

function shown(number: number | null): string {
  return number === null ? "an unknown number" : number.toFixed(2);
}
