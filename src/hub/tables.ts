import { StoreError } from "../core/errors.ts";

/** The version of the tables. A client that knows only lower ones refuses them. */
export const VERSION = 1;

export const TEAM_PREFIX = "coppice_";

/** Returns the schema of a team. Names have at most 63 bytes. @throws {StoreError} `OPTION_INVALID`. */
export function schemaOf(team: string): string {
  if (/^[\w-]{1,40}$/.test(team)) return TEAM_PREFIX + team;
  const expected = "1 to 40 letters, digits, hyphens and underscores";
  throw new StoreError("OPTION_INVALID", { option: "team", expected, actual: team });
}

/** The roles of a team. Writers may also read. @param team  The name of its schema, without the prefix. */
export function rolesOf(team: string): { read: string; write: string } {
  return { read: `coppice_read_${team}`, write: `coppice_write_${team}` };
}

/**
 * SQL that makes the schema of a team. Rights are plain grants; the only policy is that nobody deletes what another role began, and it
 * is of no concern to readers. There are no functions and no triggers.
 *
 * @param names  The schema and the roles, as identifiers.
 */
export function tablesOf({ schema, read, write }: Record<"schema" | "read" | "write", string>): string {
  return `
CREATE SCHEMA ${schema};
CREATE TABLE ${schema}.hub (version integer NOT NULL, has_words boolean NOT NULL DEFAULT false);
INSERT INTO ${schema}.hub VALUES (${VERSION});

-- A session. Whoever forgets messages of it deletes it and inserts it again without them.
CREATE TABLE ${schema}.sessions (
  session_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The store in which it began, and its id there.
  origin uuid NOT NULL,
  session_id text NOT NULL,
  began_by text NOT NULL DEFAULT session_user,
  -- The store that may push.
  holder uuid NOT NULL,
  project text NOT NULL,
  title text,
  -- Title, settings and items: what is overwritten. JSON is in bytes, because jsonb orders keys and text refuses U+0000.
  head bytea NOT NULL,
  -- How many events its log has, and how many messages its path.
  length bigint NOT NULL DEFAULT 0,
  message_count bigint NOT NULL DEFAULT 0,
  last_at_ms bigint,
  pushed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  pushed_by text NOT NULL DEFAULT session_user,
  UNIQUE (origin, session_id)
);
CREATE INDEX sessions_by_time ON ${schema}.sessions (pushed_at);

-- What happened in a session, in order: messages, rewinds, entries. Rows are only added. Each has as many events as were pushed at once.
CREATE TABLE ${schema}.log (
  session_no bigint NOT NULL REFERENCES ${schema}.sessions ON DELETE CASCADE,
  -- The place of its first event.
  n bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (session_no, n)
);
ALTER TABLE ${schema}.log ALTER COLUMN body SET STORAGE EXTERNAL;

-- The numbers of sessions that were deleted, so that copies of them go.
CREATE TABLE ${schema}.forgotten (
  session_no bigint PRIMARY KEY,
  forgotten_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX forgotten_by_time ON ${schema}.forgotten (forgotten_at);

ALTER TABLE ${schema}.sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY readable ON ${schema}.sessions FOR SELECT USING (true);
CREATE POLICY writable ON ${schema}.sessions FOR INSERT WITH CHECK (true);
CREATE POLICY changeable ON ${schema}.sessions FOR UPDATE USING (true);
CREATE POLICY deletable ON ${schema}.sessions FOR DELETE USING (began_by = session_user);

GRANT USAGE ON SCHEMA ${schema} TO ${read}, ${write};
GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${read}, ${write};
GRANT INSERT (origin, session_id, holder, project, title, head), DELETE ON ${schema}.sessions TO ${write};
GRANT UPDATE (holder, project, title, head, length, message_count, last_at_ms, pushed_at, pushed_by) ON ${schema}.sessions TO ${write};
GRANT INSERT ON ${schema}.log TO ${write};
GRANT INSERT (session_no) ON ${schema}.forgotten TO ${write};
`;
}
