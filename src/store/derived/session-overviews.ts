import { DamageError } from "../../core/damage.ts";
import { HIDDEN, tagNamespace } from "../../core/tags.ts";
import type { GrowingTheme } from "../../forest/growing-forest.ts";
import { isOfRemembered, openingOf } from "../facts/conditions.ts";
import type { ItemRepository } from "../facts/items.ts";
import { IS_SESSION, PathReader, type PathRepository, type Piece } from "../facts/paths.ts";
import { LAST_CHARACTER, SESSION, type SessionRow, timeOf } from "../facts/sessions.ts";
import type { StoreDatabase } from "../file/open.ts";
import { MESSAGE } from "../sql/message-columns.ts";
import type { RowOf } from "../sql/statement.ts";
import type { ThemeRepository } from "./themes.ts";

type ListedSession = SessionRow &
  Pick<SessionOverview, "messageCount" | "clusterCount"> & {
    newestId: number | null;
    openingId: number | null;
    isFork: number;
  };

/** A session as lists show it. */
export interface SessionOverview {
  id: string;
  project: string | null;
  title: string | null;
  /**
   * The title, or at most 80 characters of what the user asked first; if no user has written, the title of the largest cluster. Null
   * if there is none of these. It is made when it is read.
   */
  readonly name: string | null;
  /** In order. Lists for people leave out a session with the tag `hidden`. */
  tags: string[];
  /** The first 200 characters that the user wrote, for lists of sessions without titles. Null if no user has written. */
  opening: string | null;
  source: string | null;
  /** Who of the team has pushed it, if it is a copy of what another has; null for one's own. */
  author: string | null;
  externalId: string | null;
  /** The session that started it, or that it was forked from. */
  parentSessionId: string | null;
  /** For a fork, the seq of the last message that it has in common with its parent. */
  forkSeq: number | null;
  messageCount: number;
  tokenCount: number;
  themeCount: number;
  clusterCount: number;
  createdAtMs: number;
  /** When the newest message was appended, or the session was created. */
  updatedAtMs: number;
}

/** Filters and pages a list of sessions. */
export interface SessionsOptions {
  /** Only sessions whose own or external id begins with this. */
  prefix?: string;
  /** Only sessions of this project. */
  project?: string;
  /** Only sessions whose newest message is of this time or later, in Unix milliseconds. */
  sinceMs?: number;
  /** Only sessions with this tag. */
  tag?: string;
  /** False leaves out sessions with the tag `hidden`, and those of what people asked to remember. */
  hidden?: boolean;
  /** The most sessions to list. */
  limit?: number;
  /** The number of sessions to skip, to continue after a page. */
  offset?: number;
  /** Called for each session that cannot be read, and is left out. Without this function, the first of them throws. */
  onUnreadable?: (unreadable: Unreadable) => void;
}

/** A session, or one message of it, that is damaged. */
export interface Unreadable {
  sessionId: string;
  /** Left out if the session itself is damaged, and not one of its messages. */
  seq?: number;
  reason: string;
}

type SinceOptions = { project?: string | undefined; sinceMs: number; untilMs?: number | undefined; limit: number };

export interface SessionTitles {
  /** Returns a title for a session from the one that it has and its first request; null if there are neither. */
  titleOfSession: (title: string | null, request: string | null) => string | null;
  /** How many characters of the request `titleOfSession` reads. */
  titleTextChars: number;
}

type Sizes = { tokenCount: number; themeCount: number };

const ALL = -1;

const OPENING_CHARS = 200;

type Page = {
  project: string | null;
  /** The beginning of an id, and the end of the ids that begin so. */
  prefix: string | null;
  prefixEnd: string | null;
  id: string | null;
  sinceMs: number | null;
  untilMs: number | null;
  /** The namespaces of a tag that sessions must have, and of one that they must not have, as JSON. */
  tag: string | null;
  notTag: string | null;
  limit: number;
  offset: number;
};
/** Sessions are chosen by their newest messages. Only messages of chosen sessions are counted. */
const PAGE = `page AS MATERIALIZED (
  SELECT s.*, coalesce(${timeOf("DESC")}, s.created_at_ms) AS updated_at_ms FROM sessions s
  WHERE (@project IS NULL OR s.project = @project) AND (@id IS NULL OR s.id = @id)
    AND (@prefix IS NULL OR s.id >= @prefix AND s.id < @prefixEnd OR s.external_id >= @prefix AND s.external_id < @prefixEnd)
    AND (@sinceMs IS NULL OR updated_at_ms >= @sinceMs)
    AND (@untilMs IS NULL OR coalesce(${timeOf("ASC")}, s.created_at_ms) <= @untilMs) AND s.${IS_SESSION}
    AND (@tag IS NULL OR EXISTS (SELECT 1 FROM items WHERE namespace = @tag AND key = s.id))
    AND (@notTag IS NULL
      OR NOT ${isOfRemembered("s.id")} AND NOT EXISTS (SELECT 1 FROM items WHERE namespace = @notTag AND key = s.id))
  ORDER BY updated_at_ms DESC, s.id LIMIT @limit OFFSET @offset)`;

const ALL_SEQS = "9e15";

export class SessionOverviewRepository extends PathReader {
  // Subqueries for each row of a page. They read only a few messages of each session.
  readonly #pageIds = this.statement<Page, string>`
    WITH ${PAGE} SELECT id FROM page ORDER BY updated_at_ms DESC, id`.pluck().all;
  readonly #list = this.statement<Page, ListedSession>`
    WITH ${PAGE}
    SELECT ${SESSION.of("s")},
           (SELECT m.id FROM messages m WHERE m.session_id = s.id ORDER BY m.seq DESC LIMIT 1) AS newestId,
           (${openingOf("s.id", ALL_SEQS)}) AS openingId,
           (SELECT count(*) FROM messages m WHERE m.session_id = s.id) AS messageCount,
           (SELECT count(*) FROM clusters c WHERE c.session_id = s.id) AS clusterCount,
           EXISTS (SELECT 1 FROM shared_pasts p WHERE p.session_id = s.id) AS isFork
    FROM page s ORDER BY s.updated_at_ms DESC, s.id`;
  readonly #messages = this.statement<[ids: string], RowOf<typeof MESSAGE>>`
    SELECT ${MESSAGE} FROM messages WHERE id IN (SELECT value FROM json_each(?))`.allOf;
  /** The tokens of the messages of a session that are in no theme. */
  readonly #outside = this.statement<{ id: string; graduatedSeq: number; seqLast: number }, number>`
    SELECT coalesce(sum(token_count), 0) FROM (
      SELECT token_count FROM messages WHERE session_id = @id AND seq BETWEEN @graduatedSeq AND @seqLast
      UNION ALL SELECT token_count FROM messages
      WHERE session_id = @id AND seq < @graduatedSeq AND seq <= @seqLast AND pinned = 1)`.pluck().one;
  readonly #countIn = this.statement<Piece, number>`
    SELECT count(*) FROM messages WHERE session_id = @sessionId AND seq BETWEEN @seqFirst AND @seqLast`.pluck().one;
  readonly #openingIn = this.statement<[sessionId: string, seqLast: number], number>`
    ${openingOf("?", "?")}`.pluck();
  readonly #labelOf = this.statement<[sessionId: string], string>`
    SELECT label FROM clusters WHERE session_id = ? AND label <> '' ORDER BY message_count DESC, root_id LIMIT 1`.pluck();
  readonly #themes: ThemeRepository;
  readonly #items: ItemRepository;
  readonly #titleOf: SessionTitles["titleOfSession"];
  readonly #requestChars: number;

  constructor(
    database: StoreDatabase,
    paths: PathRepository,
    themes: ThemeRepository,
    items: ItemRepository,
    { titleOfSession, titleTextChars }: SessionTitles,
  ) {
    super(database, paths);
    this.#titleOf = titleOfSession;
    this.#requestChars = titleTextChars;
    this.#themes = themes;
    this.#items = items;
  }

  /** The ids of sessions with a message of this time or later, and one of `untilMs` or earlier, newest first. */
  idsSince({ project, untilMs, ...page }: SinceOptions): string[] {
    const wanted = pageOf({ ...page, ...(project !== undefined && { project }), hidden: false });
    return this.#pageIds({ ...wanted, untilMs: untilMs ?? null });
  }

  /** Newest first. @throws {DamageError} if a session, or a message that is shown of one, is damaged. */
  list(options: SessionsOptions): SessionOverview[] {
    return this.#overviews(pageOf(options));
  }

  /** The ids of what `list` would return, damaged or not. */
  listedIds(options: SessionsOptions): string[] {
    return this.#pageIds(pageOf(options));
  }

  of(id: string): SessionOverview | undefined {
    return this.#overviews({ ...pageOf({ limit: 1 }), id })[0];
  }

  /** The name of a session, as its overview has it, without what else is in an overview. */
  nameOf({ id, title }: Pick<SessionRow, "id" | "title">): string | null {
    if (title) return title;
    const openings = this.paths.of(id).map(({ sessionId, seqLast }) => this.#openingIn.get(sessionId, seqLast));
    const openingId = openings.find((opening) => opening !== undefined);
    if (openingId === undefined) return this.#labelOf.get(id) ?? null;
    const [opening] = this.#messages([openingId]);
    if (opening === undefined) throw missing(openingId);
    return this.#titleOf(title, beginningOf(opening.text, this.#requestChars));
  }

  #overviews(page: Page): SessionOverview[] {
    const listed = this.#list.all(page);
    // A row of zeros reads as NULL, as a row does that a join has not found.
    if (listed.some(({ id }) => id === null)) throw new DamageError("a session has no id");
    const rows = listed.map((row) => (row.isFork === 1 ? this.#withPast(row) : row));
    const shownIds = rows.flatMap(({ newestId, openingId }) => [newestId, openingId]).filter((id) => id !== null);
    const shown = new Map(this.#messages(shownIds).map((message) => [message.id, message]));
    const tags = this.#items.tagsOf(rows.map(({ id }) => id));
    return rows.map((row) => {
      const {
        id,
        project,
        title,
        source,
        author,
        externalId,
        parentSessionId,
        forkSeq,
        newestId,
        openingId,
        ...counts
      } = row;
      const { messageCount, clusterCount, createdAtMs } = counts;
      const said = openingId === null ? null : known(shown, openingId).text;
      const opening = said === null ? null : beginningOf(said, OPENING_CHARS);
      const request = title || said === null ? null : beginningOf(said, this.#requestChars);
      const updatedAtMs = newestId === null ? createdAtMs : known(shown, newestId).createdAtMs;
      const label = openingId === null && !title ? (this.#labelOf.get(id) ?? null) : null;
      const names = { id, project, title, name: title || label, tags: tags.get(id) ?? [] };
      const overview = {
        ...{ ...names, opening, source, author, externalId, parentSessionId, forkSeq, messageCount },
        ...{ ...this.#sizesOf(row), clusterCount, createdAtMs, updatedAtMs },
      };
      // Most lists need no names, and to make them would take as long as the rest.
      let name: string | null | undefined;
      const get = () => {
        name ??= this.#titleOf(title, request);
        return name;
      };
      return request === null ? overview : Object.defineProperty(overview, "name", { get });
    });
  }

  #withPast(row: ListedSession): ListedSession {
    const past = this.paths.past(row.id);
    const messageCount = past.reduce((count, piece) => count + this.#countIn(piece), row.messageCount);
    const openings = past.map(({ sessionId, seqLast }) => this.#openingIn.get(sessionId, seqLast));
    const openingId = openings.find((id) => id !== undefined) ?? row.openingId;
    const clusterCount = sumOf(this.#themesOf(row.id), "clusterCount");
    return { ...row, messageCount, openingId, clusterCount };
  }

  #sizesOf({ id, graduatedSeq }: ListedSession): Sizes {
    const themes = this.#themesOf(id);
    const outside = this.paths.of(id).map(({ sessionId, seqLast }) => {
      return this.#outside({ id: sessionId, graduatedSeq, seqLast });
    });
    const tokenCount = outside.reduce((sum, tokens) => sum + tokens, sumOf(themes, "tokenCount"));
    return { tokenCount, themeCount: themes.length };
  }

  #themesOf(id: string): GrowingTheme["theme"][] {
    return this.#themes.ofSession(id).map(({ theme }) => theme);
  }
}

/** @throws {DamageError} if an index names a message that is missing. */
function known(messages: ReadonlyMap<number, RowOf<typeof MESSAGE>>, id: number): RowOf<typeof MESSAGE> {
  const message = messages.get(id);
  if (message === undefined) throw missing(id);
  return message;
}

function missing(id: number): DamageError {
  return new DamageError(`message ${id} is missing, and in an index`);
}

/** Returns the first code points of a text. They are a copy, which does not keep a long text in memory. */
function beginningOf(text: string, count: number): string {
  if (text.length <= count) return text;
  return Array.from(text.slice(0, 2 * count))
    .slice(0, count)
    .join("");
}

function sumOf<K extends string>(rows: readonly Record<K, number>[], key: K): number {
  return rows.reduce((sum, row) => sum + row[key], 0);
}

function pageOf({ prefix, project, sinceMs, tag, hidden = true, limit = ALL, offset = 0 }: SessionsOptions): Page {
  const prefixes = { prefix: prefix ?? null, prefixEnd: prefix === undefined ? null : prefix + LAST_CHARACTER };
  const tags = {
    tag: tag === undefined ? null : JSON.stringify(tagNamespace(tag)),
    notTag: hidden ? null : JSON.stringify(tagNamespace(HIDDEN)),
  };
  const chosen = { project: project ?? null, id: null, ...prefixes, sinceMs: sinceMs ?? null, untilMs: null, ...tags };
  return { ...chosen, limit, offset };
}
