import { StoreError } from "../core/errors.ts";

/**
 * The version of the tables, and of what clients write into them. A client works with the version before and the one after its own, so
 * that a team need not upgrade at once.
 */
export const VERSION = 1;

/** The lowest version of clients that these tables admit: they write what all others can read. */
const CLIENT_MIN = 1;

export const TEAM_PREFIX = "coppice_";

/** Returns the schema of a team. Names have at most 63 bytes. @throws {StoreError} `OPTION_INVALID`. */
export function schemaOf(team: string): string {
  if (/^[\w-]{1,40}$/.test(team)) return TEAM_PREFIX + team;
  const expected = "1 to 40 letters, digits, hyphens and underscores";
  throw new StoreError("OPTION_INVALID", { option: "team", expected, actual: team });
}

/** What the roles of a team are called. Writers may also read. @param more  An ending, if other roles have the names. */
export function rolesOf(team: string, more = ""): Roles {
  return { read: `coppice_read_${team}${more}`, write: `coppice_write_${team}${more}` };
}

export interface Roles {
  read: string;
  write: string;
}

/** What a row may have at most, so that one row cannot keep others from reading: a server and a driver cannot send some that can be stored. */
const BODY_BYTES_MAX = 240_000_000;
const NAME_CHARS_MAX = 4_096;

/**
 * SQL that makes the schema of a team. Rights are plain grants; policies only see to it that nobody deletes what another role began, or
 * pushes in another's name. They are of no concern to readers. There are no functions and no triggers.
 *
 * @param names  The schema and the roles, as identifiers.
 * @param roles  The roles, as literals.
 */
export function tablesOf({ schema, read, write }: Roles & { schema: string }, roles: Roles): string {
  return `
CREATE SCHEMA ${schema};
CREATE TABLE ${schema}.hub (
  version integer NOT NULL,
  client_min integer NOT NULL,
  -- By what a store knows that the numbers which it has noted are those of these tables.
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- Roles belong to the server, and a team of another database may have the plain names.
  reader text NOT NULL,
  writer text NOT NULL,
  has_words boolean NOT NULL DEFAULT false
);
INSERT INTO ${schema}.hub (version, client_min, reader, writer) VALUES (${VERSION}, ${CLIENT_MIN}, ${roles.read}, ${roles.write});

-- A session. Whoever forgets messages of it deletes it and inserts it again without them.
CREATE TABLE ${schema}.sessions (
  session_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The store in which it began, and its id there.
  origin uuid NOT NULL,
  session_id text NOT NULL,
  began_by text NOT NULL DEFAULT session_user,
  -- The store that may push.
  holder uuid NOT NULL,
  project text NOT NULL CHECK (length(project) <= ${NAME_CHARS_MAX}),
  title text CHECK (length(title) <= ${NAME_CHARS_MAX}),
  -- Title, settings and items: what is overwritten. JSON is in bytes, because jsonb orders keys and text refuses U+0000.
  head bytea NOT NULL DEFAULT '' CHECK (octet_length(head) <= ${BODY_BYTES_MAX}),
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
  body bytea NOT NULL CHECK (octet_length(body) <= ${BODY_BYTES_MAX}),
  PRIMARY KEY (session_no, n)
);
ALTER TABLE ${schema}.log ALTER COLUMN body SET STORAGE EXTERNAL;

ALTER TABLE ${schema}.sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY readable ON ${schema}.sessions FOR SELECT USING (true);
CREATE POLICY writable ON ${schema}.sessions FOR INSERT WITH CHECK (true);
CREATE POLICY changeable ON ${schema}.sessions FOR UPDATE USING (true) WITH CHECK (pushed_by = session_user);
CREATE POLICY deletable ON ${schema}.sessions FOR DELETE USING (began_by = session_user);
ALTER TABLE ${schema}.log ENABLE ROW LEVEL SECURITY;
CREATE POLICY readable ON ${schema}.log FOR SELECT USING (true);
-- Whoever adds to a session has said so in its row before.
CREATE POLICY addable ON ${schema}.log FOR INSERT WITH CHECK (EXISTS (
  SELECT FROM ${schema}.sessions s WHERE s.session_no = log.session_no AND s.pushed_by = session_user AND log.n < s.length));

GRANT USAGE ON SCHEMA ${schema} TO ${read}, ${write};
GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${read}, ${write};
GRANT INSERT (origin, session_id, holder, project), DELETE ON ${schema}.sessions TO ${write};
GRANT UPDATE (holder, project, title, head, length, message_count, last_at_ms, pushed_at, pushed_by) ON ${schema}.sessions TO ${write};
GRANT INSERT ON ${schema}.log TO ${write};
`;
}
