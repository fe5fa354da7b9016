/** The lowest version of the tables that this version of Coppice can use. */
export const VERSION_MIN = 5;

/**
 * The versions of the hub's tables, in order. A released one is never edited. `clientMin` is the lowest version that a client must
 * know to use the tables without harm.
 *
 * Rules that a test holds, so that a distributed Postgres can take the tables: every key begins with `place`; there are no triggers
 * and no policies with subqueries. The functions are in functions.ts.
 */
export const MIGRATIONS: readonly { clientMin: number; sql: string }[] = [
  { clientMin: 1, sql: tablesOfVersion1() },
  { clientMin: 2, sql: tablesOfVersion2() },
  { clientMin: 3, sql: tablesOfVersion3() },
  { clientMin: 4, sql: tablesOfVersion4() },
  { clientMin: 5, sql: tablesOfVersion5() },
];

function tablesOfVersion1(): string {
  // JSON is in bytes, because `jsonb` orders keys and `text` refuses U+0000.
  return `
CREATE SEQUENCE coppice.place_numbers;
CREATE SEQUENCE coppice.session_numbers;

-- A project of a team.
CREATE TABLE coppice.places (
  place bigint PRIMARY KEY DEFAULT nextval('coppice.place_numbers'),
  team text NOT NULL,
  project text NOT NULL,
  retention_days integer CHECK (retention_days > 0),
  tombstone_count bigint NOT NULL DEFAULT 0,
  UNIQUE (team, project)
);

-- The row of a session is locked by whoever changes anything of the session. It stays when the session is forgotten.
CREATE TABLE coppice.sessions (
  place bigint NOT NULL REFERENCES coppice.places,
  session_no bigint NOT NULL,
  team text NOT NULL,
  -- The store in which the session began, and its id there.
  origin uuid NOT NULL,
  session_id text NOT NULL,
  title text,
  created_at_ms bigint,
  last_at_ms bigint,
  -- The store that may push. The epoch rises when another store takes the session.
  holder uuid NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  -- What is pushed: its number of messages, the id of the newest, and digests of all contents and of all places.
  message_count bigint NOT NULL DEFAULT 0,
  last_id bigint NOT NULL DEFAULT 0,
  head bytea,
  shape bytea,
  -- Readers see the messages up to this one, because the other facts are of the same moment.
  marked_id bigint NOT NULL DEFAULT 0,
  marked_count bigint NOT NULL DEFAULT 0,
  embedder_id text,
  dimension integer,
  newest_id bigint,
  pushed_at timestamptz,
  pushed_by text,
  forgotten_at timestamptz,
  expired_at timestamptz,
  PRIMARY KEY (place, session_no),
  UNIQUE (place, session_no, team),
  UNIQUE (place, origin, session_id)
);

-- Messages of the path and of superseded branches. Contents never change.
CREATE TABLE coppice.messages (
  place bigint NOT NULL,
  session_no bigint NOT NULL,
  message_id bigint NOT NULL,
  team text NOT NULL,
  -- The id of the superseded branch; NULL on the path.
  branch text,
  seq integer NOT NULL,
  step_id bigint NOT NULL,
  turn_seq integer NOT NULL,
  role smallint NOT NULL,
  pinned boolean NOT NULL,
  token_count bigint NOT NULL,
  created_at_ms bigint NOT NULL,
  digest bytea NOT NULL,
  checksum bigint,
  body bytea NOT NULL,
  PRIMARY KEY (place, session_no, message_id),
  FOREIGN KEY (place, session_no, team) REFERENCES coppice.sessions (place, session_no, team)
);
ALTER TABLE coppice.messages ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX messages_by_seq ON coppice.messages (place, session_no, seq);

-- All other facts of a session, in chunks of rows.
CREATE TABLE coppice.facts (
  place bigint NOT NULL,
  session_no bigint NOT NULL,
  kind text NOT NULL,
  chunk integer NOT NULL,
  team text NOT NULL,
  digest bytea NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (place, session_no, kind, chunk),
  FOREIGN KEY (place, session_no, team) REFERENCES coppice.sessions (place, session_no, team)
);
ALTER TABLE coppice.facts ALTER COLUMN body SET STORAGE EXTERNAL;

-- Long strings of messages. Sessions do not share them: whoever asked for a digest would learn what others have.
CREATE TABLE coppice.artifacts (
  place bigint NOT NULL,
  session_no bigint NOT NULL,
  sha256 bytea NOT NULL,
  team text NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (place, session_no, sha256),
  FOREIGN KEY (place, session_no, team) REFERENCES coppice.sessions (place, session_no, team)
);
ALTER TABLE coppice.artifacts ALTER COLUMN body SET STORAGE EXTERNAL;

-- What was forgotten, in the order in which it was. A message id of NULL stands for the whole session.
CREATE TABLE coppice.tombstones (
  place bigint NOT NULL,
  tombstone_no bigint NOT NULL,
  team text NOT NULL,
  session_no bigint NOT NULL,
  message_id bigint,
  forgotten_at timestamptz NOT NULL DEFAULT now(),
  forgotten_by text NOT NULL DEFAULT session_user,
  PRIMARY KEY (place, tombstone_no),
  FOREIGN KEY (place, session_no, team) REFERENCES coppice.sessions (place, session_no, team)
);
CREATE INDEX tombstones_by_session ON coppice.tombstones (place, session_no);

${["places", "sessions", "messages", "facts", "artifacts", "tombstones"].map(teamTable).join("\n")}

GRANT USAGE ON SCHEMA coppice TO coppice_reader, coppice_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA coppice TO coppice_reader, coppice_writer;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA coppice TO coppice_writer;
GRANT INSERT ON coppice.places, coppice.sessions, coppice.messages, coppice.facts, coppice.artifacts, coppice.tombstones
  TO coppice_writer;
GRANT DELETE ON coppice.messages, coppice.facts, coppice.artifacts TO coppice_writer;
GRANT UPDATE (tombstone_count) ON coppice.places TO coppice_writer;
GRANT UPDATE (title, created_at_ms, last_at_ms, holder, epoch, message_count, last_id, head, shape, marked_id, marked_count,
  embedder_id, dimension, newest_id, pushed_at, pushed_by, forgotten_at, expired_at) ON coppice.sessions TO coppice_writer;
GRANT UPDATE (branch, seq, step_id, turn_seq, checksum) ON coppice.messages TO coppice_writer;
GRANT UPDATE (digest, body) ON coppice.facts TO coppice_writer;
`;
}

/** Makes the word index. A client that does not know it would push messages that no search finds. */
function tablesOfVersion2(): string {
  return `
CREATE SEQUENCE coppice.segment_numbers;
ALTER TABLE coppice.places ADD UNIQUE (place, team);

-- Which messages of a push have which words. Rows never change: the keeper replaces many small segments by a large one.
CREATE TABLE coppice.segments (
  place bigint NOT NULL,
  segment bigint NOT NULL DEFAULT nextval('coppice.segment_numbers'),
  team text NOT NULL,
  level smallint NOT NULL,
  -- True if it says which messages of other segments are gone.
  has_gone boolean NOT NULL,
  head bytea NOT NULL,
  PRIMARY KEY (place, segment),
  UNIQUE (place, segment, team),
  FOREIGN KEY (place, team) REFERENCES coppice.places (place, team)
);

-- The words of a large segment, in their order. Each has a range of them.
CREATE TABLE coppice.buckets (
  place bigint NOT NULL,
  segment bigint NOT NULL,
  bucket integer NOT NULL,
  team text NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (place, segment, bucket),
  FOREIGN KEY (place, segment, team) REFERENCES coppice.segments (place, segment, team) ON DELETE CASCADE
);
ALTER TABLE coppice.buckets ALTER COLUMN body SET STORAGE EXTERNAL;

${["segments", "buckets"].map(teamTable).join("\n")}

GRANT SELECT ON coppice.segments, coppice.buckets TO coppice_reader, coppice_writer;
GRANT INSERT, DELETE ON coppice.segments, coppice.buckets TO coppice_writer;
-- The keeper locks the rows of segments, which needs the right to update a column. None is ever updated.
GRANT UPDATE (level) ON coppice.segments TO coppice_writer;
GRANT USAGE ON SEQUENCE coppice.segment_numbers TO coppice_writer;
`;
}

/** Closes ways in which a member of one team could disturb another, or see what it pushes. */
function tablesOfVersion3(): string {
  return `
-- Row-level security lets a role write rows of every role that it is a member of. All writers are members of coppice_writer, so
-- they would all see a place of it, and push to it.
ALTER TABLE coppice.places ADD CHECK (starts_with(team, 'coppice_team_'));
ALTER TABLE coppice.sessions ADD FOREIGN KEY (place, team) REFERENCES coppice.places (place, team);

-- The server gives the numbers. Whoever could choose them could take those that others get next.
ALTER TABLE coppice.sessions ALTER COLUMN session_no SET DEFAULT nextval('coppice.session_numbers');
REVOKE INSERT ON coppice.places, coppice.sessions, coppice.segments FROM coppice_writer;
GRANT INSERT (team, project) ON coppice.places TO coppice_writer;
GRANT INSERT (place, team, origin, session_id, holder) ON coppice.sessions TO coppice_writer;
GRANT INSERT (place, team, level, has_gone, head) ON coppice.segments TO coppice_writer;
`;
}

/** Vectors, for searches by meaning. A client that does not know them would pull sessions without their vectors. */
function tablesOfVersion4(): string {
  return `
-- As the store has it. NULL if it has none, or if the local embedder makes it again.
ALTER TABLE coppice.messages ADD embedding bytea CHECK (octet_length(embedding) <= 262144);
ALTER TABLE coppice.messages ALTER COLUMN embedding SET STORAGE EXTERNAL;

-- A digest of the vectors and clusters that are there.
ALTER TABLE coppice.sessions ADD vectors bytea;

-- Messages that are near to each other: the clusters of a session, and the turns of its window. Their centroids are in a column that
-- is added where the server has pgvector: see \`addCentroids\`.
CREATE TABLE coppice.clusters (
  place bigint NOT NULL,
  session_no bigint NOT NULL,
  root bigint NOT NULL,
  team text NOT NULL,
  embedder_id text NOT NULL,
  dimension integer NOT NULL,
  members bigint[] NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (place, session_no, root),
  FOREIGN KEY (place, session_no, team) REFERENCES coppice.sessions (place, session_no, team)
);

${teamTable("clusters")}

GRANT SELECT ON coppice.clusters TO coppice_reader, coppice_writer;
GRANT INSERT, DELETE ON coppice.clusters TO coppice_writer;
GRANT UPDATE (embedding) ON coppice.messages TO coppice_writer;
GRANT UPDATE (vectors) ON coppice.sessions TO coppice_writer;
`;
}

/** Closes ways in which a member of one team could test what another one has, or keep all others waiting. */
function tablesOfVersion5(): string {
  const keys = {
    messages: "place, session_no, message_id",
    facts: "place, session_no, kind, chunk",
    artifacts: "place, session_no, sha256",
    clusters: "place, session_no, root",
    tombstones: "place, tombstone_no",
    buckets: "place, segment, bucket",
  };
  return `
-- Keys are checked before anything else, and for the rows of all teams. With the team in it, a key of others is as good as a free one.
${Object.entries(keys)
  .map(
    ([table, key]) =>
      `ALTER TABLE coppice.${table} DROP CONSTRAINT ${table}_pkey, ADD CONSTRAINT ${table}_pkey PRIMARY KEY (${key}, team);`,
  )
  .join("\n")}
ALTER TABLE coppice.sessions DROP CONSTRAINT sessions_place_fkey, DROP CONSTRAINT sessions_pkey,
  REPLICA IDENTITY USING INDEX sessions_place_session_no_team_key,
  DROP CONSTRAINT sessions_place_origin_session_id_key, ADD UNIQUE (place, origin, session_id, team);
ALTER TABLE coppice.segments DROP CONSTRAINT segments_pkey, REPLICA IDENTITY USING INDEX segments_place_segment_team_key;

-- Whoever may delete from a table may lock all of it.
REVOKE DELETE ON coppice.messages, coppice.facts, coppice.artifacts, coppice.clusters, coppice.segments, coppice.buckets
  FROM coppice_writer;

-- A sequence, because a row of a counter stays locked as long as one caller likes. Each role has a limit, and a number that it cannot
-- pay for is not reached: the store then chooses a block itself. Of a counter that was driven up, what no session has is given again.
CREATE SEQUENCE coppice.id_blocks MINVALUE 0 START 0;
SELECT setval('coppice.id_blocks', least(id_block, 65536 + coalesce((
  SELECT max(newest_id >> 28) FROM coppice.sessions WHERE newest_id >> 28 < 33538048), 0))) FROM coppice.hub;
ALTER TABLE coppice.hub DROP COLUMN id_block;
CREATE TABLE coppice.blocks (role text PRIMARY KEY, used bigint NOT NULL);
`;
}

/** SQL that shows a table's rows only to members of their teams. */
function teamTable(name: string): string {
  return `ALTER TABLE coppice.${name} ENABLE ROW LEVEL SECURITY;
CREATE POLICY ${name}_of_team ON coppice.${name} USING (pg_has_role(team::name, 'member'));`;
}
