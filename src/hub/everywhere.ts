import type { PoolClient } from "pg";
import { StoreError } from "../core/errors.ts";
import type { Role } from "../core/message.ts";
import { textOf } from "../core/text.ts";
import type { SessionEvent } from "../session/moving/copies.ts";
import type { HubConnection } from "./connection.ts";
import { eventsOf, type LogRow, logPage, readable } from "./log.ts";

// The word index of PostgreSQL over all sessions of a team, with its own ranking. It is there if the administrator has made it.

export interface EverywhereOptions {
  /** The name that a project has on the hub. By default all are searched. */
  project?: string;
  /** By default 10. */
  limit?: number;
}

/** A message that a search of the hub has found. */
export interface EverywhereHit {
  sessionId: string;
  project: string | null;
  title: string | null;
  /** The role that pushed the session last. */
  by: string;
  role: Role;
  createdAtMs: number;
  text: string;
  /** PostgreSQL's `ts_rank`. Scores of two searches are not comparable, nor are they with those of `recall`. */
  score: number;
}

const LIMIT_DEFAULT = 10;
/** So many messages with rare words are ranked at most, and as many with common ones. */
const RANKED_MAX = 1_000;
/** A word that fewer messages have than about this is rare: all of them are ranked. The server counts no further. */
const RARE_MAX = 200;
/** A query is searched by so many words, the rarest of up to so many that are counted. */
const WORDS_MAX = 6;
const COUNTED_MAX = 8;

/**
 * The planner would read the table from its beginning if it takes a word for common. That is slow if only the newest messages have it.
 * To start other processes takes longer than a search. For single words the index returns about this many messages instead of all.
 */
const COUNTING = `SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL gin_fuzzy_search_limit = ${RARE_MAX}`;
const SEARCHING = "SET LOCAL gin_fuzzy_search_limit = 0";

/** SQL that makes the index. @param names  The schema and the roles, as identifiers. */
export function wordsTable({ schema, read, write }: Record<"schema" | "read" | "write", string>): string {
  return `
CREATE TABLE ${schema}.words (
  session_no bigint NOT NULL REFERENCES ${schema}.sessions ON DELETE CASCADE,
  -- The place of the message in the log.
  n bigint NOT NULL,
  words tsvector NOT NULL,
  PRIMARY KEY (session_no, n)
);
-- Each search reads what is pending.
CREATE INDEX words_by_word ON ${schema}.words USING gin (words) WITH (gin_pending_list_limit = 512);
GRANT SELECT ON ${schema}.words TO ${read}, ${write};
GRANT INSERT ON ${schema}.words TO ${write};
UPDATE ${schema}.hub SET has_words = true;
`;
}

/** Adds the messages among events to the index. @param n  The place of the first event. */
export async function indexWords(
  client: PoolClient,
  schema: string,
  sessionNo: number,
  n: number,
  events: readonly SessionEvent[],
): Promise<void> {
  const texts = events.flatMap((event, index) =>
    "message" in event ? [{ n: n + index, text: textOf(event.message.parts) }] : [],
  );
  if (texts.length === 0) return;
  await client.query(
    `INSERT INTO ${schema}.words (session_no, n, words)
     SELECT $1, m.n, to_tsvector('english', m.text) FROM unnest($2::bigint[], $3::text[]) AS m(n, text) ON CONFLICT DO NOTHING`,
    [sessionNo, texts.map((one) => one.n), texts.map(({ text }) => text.toWellFormed().replaceAll("\0", " "))],
  );
}

/** Adds what was pushed before the index was made. */
export async function fillWords(hub: HubConnection): Promise<void> {
  for (let last = { sessionNo: 0, n: -1 }; ; ) {
    const rows = await hub.transaction(async (client) => {
      const { schema } = hub;
      const found = await client.query<LogRow>(logPage(schema, "(session_no, n) > ($1, $2)"), [last.sessionNo, last.n]);
      for (const { sessionNo, n, body } of found.rows) {
        await indexWords(client, schema, sessionNo, n, unlessInvalid(() => eventsOf(body)) ?? []);
      }
      return found.rows;
    });
    if (rows.length === 0) return;
    last = rows.at(-1)!;
  }
}

export async function searchEverywhere(
  hub: HubConnection,
  query: string,
  { project, limit = LIMIT_DEFAULT }: EverywhereOptions,
): Promise<EverywhereHit[]> {
  return hub.transaction(async (client, { hasWords }) => {
    if (!hasWords) {
      const command = "coppice hub init --words --team T";
      throw new StoreError("HUB_NOT_READY", { hub: hub.name, command });
    }
    const [found] = (
      await client.query<{ words: string[] }>("SELECT tsvector_to_array(to_tsvector('english', $1)) AS words", [
        query.toWellFormed().replaceAll("\0", " "),
      ])
    ).rows;
    const words = found!.words.slice(0, COUNTED_MAX).map(quoted);
    if (words.length === 0) throw new StoreError("QUERY_EMPTY", {});
    const there = await rarestFirst(client, hub.schema, words);
    if (there.length === 0) return [];
    const rare = there.filter(({ isRare }) => isRare).map(({ word }) => word);
    const common = there.filter(({ isRare }) => !isRare).map(({ word }) => word);
    // If there are rare words, one common word alone tells little.
    const countMin = rare.length > 0 ? 2 : 1;
    const also = await commonQuery(client, hub.schema, common, { countMin, limit });
    return ranked(client, hub.schema, { rare, common, also }, { project: project ?? null, limit });
  });
}

function quoted(word: string): string {
  return `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

interface CountedWord {
  word: string;
  isRare: boolean;
}

/** Returns the words that messages have, the rarest first. */
async function rarestFirst(client: PoolClient, schema: string, words: readonly string[]): Promise<CountedWord[]> {
  await client.query(COUNTING);
  const counts = words.map(
    (_, index) => `(SELECT count(*) FROM ${schema}.words WHERE words @@ $${index + 1}::tsquery)`,
  );
  const { rows } = await client.query<{ counts: number[] }>(`SELECT ARRAY[${counts.join(", ")}]::float8[] AS counts`, [
    ...words,
  ]);
  await client.query(SEARCHING);
  return words
    .map((word, index) => ({ word, count: rows[0]!.counts[index]! }))
    .filter(({ count }) => count > 0)
    .sort((left, right) => left.count - right.count)
    .slice(0, WORDS_MAX)
    .map(({ word, count }) => ({ word, isRare: count < RARE_MAX }));
}

/**
 * Returns a query for the messages that have all of the common words. If too few have all, the commonest are left out, one after another.
 *
 * @param countMin  How many words stay at least.
 */
async function commonQuery(
  client: PoolClient,
  schema: string,
  words: readonly string[],
  { countMin, limit }: { countMin: number; limit: number },
): Promise<string> {
  const queries = words.map((_, index) => words.slice(0, words.length - index).join(" & "));
  const tried = queries.slice(0, -countMin);
  const last = queries.at(-countMin) ?? "";
  if (tried.length === 0) return last;
  const cases = tried.map((_, index) => {
    const found = `SELECT FROM ${schema}.words WHERE words @@ $${index + 1}::tsquery LIMIT ${limit}`;
    return `WHEN (SELECT count(*) FROM (${found}) AS found) >= ${limit} THEN ${index}`;
  });
  const sql = `SELECT CASE ${cases.join(" ")} END AS index`;
  const { rows } = await client.query<{ index: number | null }>(sql, tried);
  return tried[rows[0]!.index ?? -1] ?? last;
}

/** Returns undefined for a row that cannot be read, so that it ends no search of the others. */
function unlessInvalid(read: () => SessionEvent[]): SessionEvent[] | undefined {
  try {
    return read();
  } catch (error) {
    if (StoreError.is(error, "ROWS_INVALID")) return undefined;
    throw error;
  }
}

interface RankedRow {
  sessionId: string;
  project: string | null;
  title: string | null;
  by: string;
  place: number;
  n: number;
  body: Buffer | null;
  score: number;
}

/** SQL: the words of a row, which are the same. What the row has outside of the table would else be fetched for each word. */
const AT_HAND = "setweight(words, 'D') AS words";

/** Messages with more of the words come first. Between those with as many, PostgreSQL's own ranking decides. */
async function ranked(
  client: PoolClient,
  schema: string,
  { rare, common, also }: { rare: readonly string[]; common: readonly string[]; also: string },
  { project, limit }: { project: string | null; limit: number },
): Promise<EverywhereHit[]> {
  const words = [...rare, ...common];
  const wordCount = words.map((_, index) => `(words @@ $${index + 6}::tsquery)::int`).join(" + ");
  const inProject = `($3::text IS NULL OR session_no IN (SELECT session_no FROM ${schema}.sessions WHERE project = $3))`;
  const { rows } = await client.query<RankedRow>(
    `WITH found AS MATERIALIZED (
       (SELECT session_no, n, ${AT_HAND} FROM ${schema}.words WHERE words @@ $1::tsquery AND ${inProject} LIMIT ${RANKED_MAX})
       UNION ALL
       (SELECT session_no, n, ${AT_HAND} FROM ${schema}.words WHERE words @@ $2::tsquery AND NOT words @@ $1::tsquery AND ${inProject} LIMIT ${RANKED_MAX})),
     best AS (SELECT session_no, n, ${wordCount} AS word_count, ts_rank(words, $5::tsquery, 1) AS score FROM found
       ORDER BY word_count DESC, score DESC, session_no, n LIMIT $4)
     SELECT s.session_id AS "sessionId", nullif(s.project, '') AS project, s.title, s.pushed_by AS by, b.n AS place, l.n, l.body, b.score
     FROM best b JOIN ${schema}.sessions s USING (session_no)
     CROSS JOIN LATERAL (SELECT n, ${readable("body")} AS body FROM ${schema}.log l WHERE l.session_no = b.session_no AND l.n <= b.n ORDER BY l.n DESC LIMIT 1) l
     ORDER BY b.word_count DESC, b.score DESC, b.session_no, b.n`,
    [rare.join(" | "), also, project, limit, words.join(" | "), ...words],
  );
  return rows.flatMap(({ place, n, body, ...hit }) => {
    const event = unlessInvalid(() => eventsOf(body))?.[place - n];
    if (event === undefined || !("message" in event)) return [];
    const { role, createdAtMs, parts } = event.message;
    return { ...hit, role, createdAtMs, text: textOf(parts) };
  });
}
