import { setImmediate as nextTurn } from "node:timers/promises";
import { HIDDEN, tagNamespace } from "../core/tags.ts";
import type { SessionOverview, Store } from "../index.ts";
import { beganAtMs } from "../session/aids/every-message.ts";
import { outcomeOf } from "../session/aids/outcome.ts";
import type { DaysAnswer, ListedSession, NewsAnswer, SessionAnswer, SessionLink, SessionsAnswer } from "./api.ts";
import type { Query } from "./requests.ts";
import { type Conditions, daysOf, meets } from "./session-filter.ts";
import { Fragment, isOfSession, sharedBy, sql } from "./sql.ts";
import type { ViewStore } from "./view-store.ts";

const NEW_SESSIONS_MAX = 500;

/** Sessions are read in slices of at least this many, so that other requests are answered in between. A slice sorts all of them. */
const SLICE_MIN = 20;
const SLICES_MAX = 25;
/** A change by another process that adds no message, such as a new title, is noticed after this time. */
const STALE_MS = 30_000;

type Position = ReturnType<ViewStore["position"]>;

/** The list of sessions. After the first reading, only sessions with new messages are read again. */
export class SessionList {
  readonly #view: ViewStore;
  #items: ReadonlyMap<string, SessionOverview> = new Map();
  readonly #outcomes = new Map<string, { state: string; outcome: string | null }>();
  #seen: Position | undefined;
  #shape: string | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** True if only sessions with new messages were read since. */
  #isPartial = false;
  #reading: Promise<void> | undefined;

  constructor(view: ViewStore) {
    this.#view = view;
  }

  /** All sessions, the most recently used first. Damaged ones are left out: `doctor` and `verify` report them. */
  async all(): Promise<readonly SessionOverview[]> {
    this.#reading ??= this.#refresh().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
    return [...this.#items.values()].sort(byUse);
  }

  /** Forgets what was read, after this process has written. */
  drop(): void {
    this.#shape = undefined;
  }

  async #refresh(): Promise<void> {
    const now = this.#view.position();
    const seen = this.#seen;
    const isStale = this.#isPartial && performance.now() - this.#readAtMs > STALE_MS;
    const isSame = seen !== undefined && this.#shape !== undefined && JSON.stringify(seen) === JSON.stringify(now);
    if (isSame && !isStale) return;
    const shape = await this.#view.read(shapeOf);
    if (seen === undefined || shape !== this.#shape || performance.now() - this.#readAtMs > STALE_MS) {
      this.#items = await this.#readAll();
      this.#readAtMs = performance.now();
      this.#isPartial = false;
    } else {
      this.#isPartial = true;
      const { sessions } = await this.#view.read((store) => newsOf(store, now, seen.newestMessageId));
      const items = new Map(this.#items);
      for (const { session } of sessions) {
        await nextTurn();
        items.set(session, await this.#view.read((store) => store.resume(session).info()));
      }
      this.#items = items;
    }
    this.#seen = now;
    this.#shape = shape;
  }

  async #readAll(): Promise<Map<string, SessionOverview>> {
    const items = new Map<string, SessionOverview>();
    const [row] = await this.#view.read((store) => store.query("SELECT count(*) AS n FROM sessions"));
    const limit = Math.max(SLICE_MIN, Math.ceil(Number(row!.n) / SLICES_MAX));
    for (let offset = 0; offset < Number(row!.n); offset += limit) {
      await nextTurn();
      const options = { limit, offset, onUnreadable: () => {} };
      for (const overview of await this.#view.read((store) => store.sessions(options))) {
        items.set(overview.id, overview);
      }
    }
    return items;
  }

  async page(request: Query<"/api/sessions">): Promise<SessionsAnswer> {
    const { limit = 100, offset = 0, project, source, sinceMs, untilMs, text } = request;
    const statement = sessionsSql(request);
    if (source === undefined && untilMs === undefined && text === undefined) {
      const filters = { ...(project !== undefined && { project }), ...(sinceMs !== undefined && { sinceMs }) };
      let unreadableCount = 0;
      const onUnreadable = (): void => {
        unreadableCount += 1;
      };
      const options = { ...filters, hidden: false, limit: limit + 1, offset, onUnreadable };
      const found = await this.#view.read((store) => store.sessions(options));
      const isMore = found.length + unreadableCount > limit;
      const next = isMore ? offset + limit : null;
      return { sessions: await this.#listed(found.slice(0, limit - unreadableCount)), next, sql: statement };
    }
    const found = await this.#chosen(request);
    const next = offset + limit < found.length ? offset + limit : null;
    return { sessions: await this.#listed(found.slice(offset, offset + limit)), next, sql: statement };
  }

  /** Adds what came of each session, which is read again when it has other messages. */
  async #listed(overviews: readonly SessionOverview[]): Promise<ListedSession[]> {
    const listed: ListedSession[] = [];
    for (const overview of overviews) {
      const { id, messageCount, updatedAtMs } = overview;
      const state = `${messageCount} ${updatedAtMs}`;
      let told = this.#outcomes.get(id);
      if (told?.state !== state) {
        await nextTurn();
        told = { state, outcome: await this.#view.read((store) => outcomeOf(store, id)) };
        this.#outcomes.set(id, told);
      }
      listed.push({ ...itemOf(overview), outcome: told.outcome });
    }
    return listed;
  }

  /** Sessions that meet some conditions, the most recently used first. */
  async #chosen(conditions: Conditions): Promise<SessionOverview[]> {
    const isMet = meets(conditions);
    return (await this.all()).filter((session) => !session.tags.includes(HIDDEN) && isMet(session));
  }

  async days(request: Query<"/api/days">): Promise<DaysAnswer> {
    const { offsetMinutes = 0 } = request;
    const statement = sql`
      SELECT date(updated_at_ms / 1000 + ${offsetMinutes * 60}, 'unixepoch') AS day,
        count(*) AS session_count, sum(message_count) AS message_count, sum(token_count) AS token_count
      FROM session_stats${whereOf(request)} GROUP BY day ORDER BY day DESC`;
    return { days: daysOf(await this.#chosen(request), offsetMinutes), sql: statement };
  }
}

/** Sorts as `store.sessions` does. */
function byUse(left: SessionOverview, right: SessionOverview): number {
  return right.updatedAtMs - left.updatedAtMs || (left.id < right.id ? -1 : 1);
}

/** Changes when sessions come, go, go back, or lose messages. */
function shapeOf(store: Store): string {
  const statement = `SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM forgotten_messages),
    (SELECT max(superseded_at_ms) FROM sessions WHERE superseded_at_ms IS NOT NULL)`;
  return JSON.stringify(store.query(statement));
}

export function itemOf(overview: SessionOverview): SessionOverview {
  return { ...overview, title: overview.name };
}

function sessionsSql({ limit = 100, offset = 0, ...filters }: Query<"/api/sessions">): string {
  return sql`
    SELECT session_id, project, title, message_count, token_count, theme_count, cluster_count, created_at_ms, updated_at_ms
    FROM session_stats${whereOf(filters)}
    ORDER BY updated_at_ms DESC, session_id LIMIT ${limit} OFFSET ${offset}`;
}

function whereOf({ project, source, sinceMs, untilMs, text }: Conditions): Fragment {
  const conditions = [
    sql`session_id NOT IN (SELECT key FROM items WHERE namespace = ${JSON.stringify(tagNamespace(HIDDEN))})`,
    ...(project === undefined ? [] : [sql`project = ${project}`]),
    ...(source === undefined ? [] : [sql`session_id IN (SELECT id FROM sessions WHERE source = ${source})`]),
    ...(sinceMs === undefined ? [] : [sql`updated_at_ms >= ${sinceMs}`]),
    ...(untilMs === undefined ? [] : [sql`updated_at_ms < ${untilMs}`]),
    ...(text === undefined ? [] : [sql`(instr(lower(title), lower(${text})) OR instr(session_id, ${text}))`]),
  ];
  return new Fragment(`\nWHERE ${conditions.join(" AND ")}`);
}

export function newsOf(
  store: Store,
  { newestMessageId, logPosition }: Omit<NewsAnswer, "sessions">,
  after: number,
): NewsAnswer {
  const rows = store.query(sql`
    SELECT session_id AS session, count(*) AS messageCount, min(seq) AS seqFirst
    FROM messages WHERE id > ${after} AND session_id IN (SELECT id FROM sessions WHERE superseded_at_ms IS NULL)
    GROUP BY session_id ORDER BY max(id) DESC LIMIT ${NEW_SESSIONS_MAX}`);
  return { newestMessageId, logPosition, sessions: rows as unknown as NewsAnswer["sessions"] };
}

export function sessionPage(store: Store, id: string): SessionAnswer {
  const session = store.resume(id);
  const statement = sql`
    SELECT s.*, (SELECT max(seq) + 1 FROM messages WHERE ${isOfSession(store, id)}) AS seq_end,
      (SELECT max(superseded_at_ms) FROM sessions WHERE parent_session_id = s.id) AS newest_superseded_at_ms
    FROM sessions s WHERE s.id = ${id}`;
  const [row] = store.query(statement);
  const childRows = store.query(sql`
    SELECT id, fork_seq FROM sessions WHERE parent_session_id = ${id} AND superseded_at_ms IS NULL
    ORDER BY fork_seq, created_at_ms, id LIMIT 1000`);
  const overview = session.info();
  const { parentSessionId } = overview;
  return {
    session: itemOf(overview),
    beganAtMs: beganAtMs(session),
    seqEnd: Number(row?.seq_end ?? 0),
    evictedSeq: Number(row?.evicted_seq ?? 0),
    graduatedSeq: Number(row?.graduated_seq ?? 0),
    supersededAtMs: row?.newest_superseded_at_ms === null ? null : Number(row?.newest_superseded_at_ms),
    sharedSeqLast: sharedBy(store, id).at(-1)?.seqLast ?? null,
    parent: parentSessionId === null ? null : linkOf(store, parentSessionId, row?.fork_seq),
    children: childRows.map((child) => linkOf(store, String(child.id), child.fork_seq)),
    settings: JSON.parse(String(row?.settings ?? "{}")),
    resume: `coppice resume ${/^[\w.-]+$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`}`,
    sql: statement,
  };
}

function linkOf(store: Store, id: string, forkSeq: unknown): SessionLink {
  const { title, messageCount, createdAtMs } = itemOf(store.resume(id).info());
  return {
    session: id,
    title,
    messageCount,
    createdAtMs,
    forkSeq: typeof forkSeq === "number" ? forkSeq : null,
    sharedSeqLast: sharedBy(store, id).at(-1)?.seqLast ?? null,
  };
}
