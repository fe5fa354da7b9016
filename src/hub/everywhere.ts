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
/** When hardly any message has most of the words, at most so many that have one of them are ranked. */
const RANKED_MAX = 5_000;
/** Sets of words are searched for queries of up to so many words. A longer one loses its last words. */
const WORDS_MAX = 8;

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
CREATE INDEX words_by_word ON ${schema}.words USING gin (words);
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

/** Searches all sessions of the team. */
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
    const words = found!.words.slice(0, WORDS_MAX);
    if (words.length === 0) throw new StoreError("QUERY_EMPTY", {});
    for (const wanted of queriesOf(words)) {
      const hits = await ranked(client, hub.schema, wanted, { project: project ?? null, limit });
      if (hits.length > 0) return hits;
    }
    return [];
  });
}

/** Yields queries for all words, for all but one, and for fewer, until each needs one of them. */
function* queriesOf(words: readonly string[]): Generator<string> {
  const quoted = words.map((word) => `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`);
  for (let left = 0; left < quoted.length; left++) {
    yield subsets(quoted, quoted.length - left)
      .map((some) => `(${some.join(" & ")})`)
      .join(" | ");
  }
}

function subsets(words: readonly string[], size: number): string[][] {
  if (size === 0) return [[]];
  return words.flatMap((word, index) => subsets(words.slice(index + 1), size - 1).map((rest) => [word, ...rest]));
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

async function ranked(
  client: PoolClient,
  schema: string,
  query: string,
  { project, limit }: { project: string | null; limit: number },
): Promise<EverywhereHit[]> {
  const { rows } = await client.query<RankedRow>(
    `WITH found AS (
       SELECT session_no, n, words FROM ${schema}.words WHERE words @@ $1::tsquery
         AND ($2::text IS NULL OR session_no IN (SELECT session_no FROM ${schema}.sessions WHERE project = $2))
       LIMIT ${RANKED_MAX}),
     best AS (SELECT session_no, n, ts_rank(words, $1::tsquery, 1) AS score FROM found ORDER BY score DESC, session_no, n LIMIT $3)
     SELECT s.session_id AS "sessionId", nullif(s.project, '') AS project, s.title, s.pushed_by AS by, b.n AS place, l.n, l.body, b.score
     FROM best b JOIN ${schema}.sessions s USING (session_no)
     CROSS JOIN LATERAL (SELECT n, ${readable("body")} AS body FROM ${schema}.log l WHERE l.session_no = b.session_no AND l.n <= b.n ORDER BY l.n DESC LIMIT 1) l
     ORDER BY b.score DESC, b.session_no, b.n`,
    [query, project, limit],
  );
  return rows.flatMap(({ place, n, body, ...hit }) => {
    const event = unlessInvalid(() => eventsOf(body))?.[place - n];
    if (event === undefined || !("message" in event)) return [];
    const { role, createdAtMs, parts } = event.message;
    return { ...hit, role, createdAtMs, text: textOf(parts) };
  });
}
