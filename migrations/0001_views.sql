-- What drizzle cannot say: triggers, the full-text index, and the views that people query. Views show the messages that a session
-- holds itself; the past of a fork is in `shared_pasts`.

-- Upkeep reads only the sessions that it may have work for, however many others there are. A message, or a change of the frontier,
-- wakes a session. Upkeep lets it sleep when no step can graduate and no cluster can settle. A fork wakes with its first message.
CREATE TRIGGER messages_wake AFTER INSERT ON messages
WHEN NOT EXISTS (SELECT 1 FROM awake_sessions WHERE session_id = new.session_id)
BEGIN
  INSERT INTO awake_sessions VALUES (new.session_id);
END;
--> statement-breakpoint
CREATE TRIGGER sessions_wake AFTER UPDATE OF frontier_version ON sessions
WHEN new.superseded_at_ms IS NULL AND NOT EXISTS (SELECT 1 FROM awake_sessions WHERE session_id = new.id)
BEGIN
  INSERT INTO awake_sessions VALUES (new.id);
END;
--> statement-breakpoint

-- The words of each message by its id, in order, as `recall` understands them: identifiers whole and in pieces, accents
-- folded, without stop words; the tokenizer adds Porter's stems. It holds no text: join `messages` for that. Derived:
-- writers fill it in batches behind the append, so the newest messages may be missing.
CREATE VIRTUAL TABLE messages_fts USING fts5(
  words,
  content = '',
  contentless_delete = 1,
  tokenize = "porter ascii tokenchars './\:@-_$'"
);
--> statement-breakpoint

-- In how many messages each stem occurs.
CREATE VIRTUAL TABLE messages_fts_terms USING fts5vocab(messages_fts, row);
--> statement-breakpoint

-- The messages of each session, those that a fork shares included. `holder_id` is the session in which a message was written.
CREATE VIEW session_messages AS
SELECT m.session_id, m.seq, m.id AS message_id, m.session_id AS holder_id, m.role, m.text
FROM messages m
JOIN sessions s ON s.id = m.session_id
WHERE s.superseded_at_ms IS NULL
UNION ALL
SELECT p.session_id, m.seq, m.id, m.session_id, m.role, m.text
FROM shared_pasts p
JOIN messages m ON m.session_id = p.holder_id AND m.seq BETWEEN p.seq_first AND p.seq_last;
--> statement-breakpoint

-- Where each message stands. It is hot while a context shows it word for word and cold once it is in the forest; in the
-- overlap it is both, so total = hot + cold - overlap. Pinned messages are always hot.
CREATE VIEW message_zones AS
SELECT
  m.id AS message_id,
  m.session_id,
  m.seq,
  CASE
    WHEN m.pinned = 1 OR m.seq >= s.graduated_seq THEN 'hot'
    WHEN m.seq >= s.evicted_seq THEN 'overlap'
    ELSE 'cold'
  END AS zone,
  (m.pinned = 1 OR m.seq >= s.evicted_seq) AS is_hot,
  (m.pinned = 0 AND m.seq < s.graduated_seq) AS is_cold
FROM messages m
JOIN sessions s ON s.id = m.session_id AND s.superseded_at_ms IS NULL;
--> statement-breakpoint

-- Which message is in which cluster, and the log position at which it came in. A message's row of the log is found by its step.
CREATE VIEW cluster_members AS
SELECT u.root AS cluster_id, m.id AS message_id, u.session_id, m.seq, u.id AS log_position
FROM unions u
JOIN messages m ON m.step_id = u.node AND (m.id = u.node OR (m.step_id = u.node AND m.step_id <> m.id))
  AND +m.session_id = u.session_id
WHERE u.kind IN ('start', 'join') AND u.level = 'cluster' AND u.level <> 'subject'
  AND u.generation = (SELECT max(id) FROM generations);
--> statement-breakpoint

-- Which message is in which theme. A root is absorbed at a later log position than the roots it has absorbed, so that a damaged
-- log cannot lead in a circle.
CREATE VIEW theme_members AS
SELECT t.root_id AS theme_id, c.root_id AS cluster_id, cm.message_id, c.session_id, cm.seq, cm.log_position
FROM clusters c
JOIN themes t ON t.session_id = c.session_id AND t.root_id = (
  WITH RECURSIVE up(root_id, log_position) AS (
    SELECT c.root_id, 0
    UNION ALL
    SELECT u.root, u.id
    FROM up
    JOIN unions u INDEXED BY unions_by_node ON u.node = up.root_id AND u.kind = 'unite' AND u.level <> 'subject'
      AND u.generation = (SELECT max(id) FROM generations) AND u.id > up.log_position
      AND (u.session_id = c.session_id OR u.id <= (
        SELECT p.log_position FROM shared_pasts p WHERE p.session_id = c.session_id AND p.holder_id = u.session_id))
  )
  SELECT root_id FROM up ORDER BY log_position DESC LIMIT 1
)
JOIN cluster_members cm ON cm.cluster_id = c.root_id AND cm.session_id = c.session_id;
--> statement-breakpoint

-- Which cluster is in which subject. A cluster that is near no other is a subject of its own, and one that a fork shares is in the
-- subject that it has in the session that began it.
CREATE VIEW subject_members AS
WITH RECURSIVE up(cluster_id, root_id) AS (
  SELECT root_id, subject_parent_id FROM clusters WHERE subject_parent_id IS NOT NULL
  UNION
  SELECT up.cluster_id, c.subject_parent_id
  FROM up
  JOIN clusters c ON c.root_id = up.root_id AND c.subject_parent_id <> c.root_id
)
SELECT up.root_id AS subject_id, up.cluster_id, c.session_id, s.project, c.label, c.message_count, c.seq_first, c.seq_last
FROM up
JOIN clusters r ON r.root_id = up.root_id AND r.subject_parent_id = r.root_id
JOIN clusters c ON c.root_id = up.cluster_id AND c.subject_parent_id IS NOT NULL
JOIN sessions s ON s.id = c.session_id;
--> statement-breakpoint

-- Messages of the forest that no finished summary covers. A step is of one session, so its id alone tells whether it is covered: a set
-- of numbers takes a tenth of the time that a set of pairs takes.
CREATE VIEW uncovered AS
SELECT m.id AS message_id, m.session_id, m.seq, m.role, m.token_count
FROM messages m
JOIN sessions s ON s.id = m.session_id
WHERE m.pinned = 0 AND m.seq < s.graduated_seq AND s.superseded_at_ms IS NULL
  AND m.step_id NOT IN (
    SELECT u.node
    FROM summaries y
    CROSS JOIN unions u ON u.root = y.root_id AND u.level = 'cluster' AND u.kind IN ('start', 'join')
      AND u.id <= y.log_position AND u.generation = (SELECT max(id) FROM generations) AND u.session_id = y.session_id
    WHERE y.level = 'cluster' AND y.status = 'done' AND y.shown_until IS NULL
      AND y.log_position > (SELECT log_position FROM generations ORDER BY id DESC LIMIT 1));
--> statement-breakpoint

-- One row a session, also for those without a message. Only messages outside the forest are counted one by one: the rows of
-- themes have the others. Seqs are dense, except for forgotten messages. The messages of forks are all counted.
CREATE VIEW session_stats AS
SELECT
  s.id AS session_id,
  s.project,
  s.title,
  s.message_count,
  CASE WHEN s.is_fork THEN
    (SELECT coalesce(sum(m.token_count), 0) FROM messages m WHERE m.session_id = s.id)
  ELSE (SELECT coalesce(sum(t.token_count), 0) FROM themes t WHERE t.session_id = s.id)
    + (SELECT coalesce(sum(m.token_count), 0) FROM messages m WHERE m.session_id = s.id AND m.seq >= s.graduated_seq)
    + (SELECT coalesce(sum(m.token_count), 0) FROM messages m
       WHERE m.session_id = s.id AND m.pinned = 1 AND m.seq < s.graduated_seq) END AS token_count,
  (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.pinned = 1) AS pinned_count,
  (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.seq >= s.evicted_seq)
    + (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.pinned = 1 AND m.seq < s.evicted_seq) AS hot_count,
  s.message_count
    - (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.seq >= s.graduated_seq)
    - (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.pinned = 1 AND m.seq < s.graduated_seq) AS cold_count,
  (SELECT count(*) FROM messages m
   WHERE m.session_id = s.id AND m.seq >= s.evicted_seq AND m.seq < s.graduated_seq AND +m.pinned = 0) AS overlap_count,
  (SELECT count(*) FROM clusters c WHERE c.session_id = s.id) AS cluster_count,
  (SELECT count(*) FROM themes t WHERE t.session_id = s.id) AS theme_count,
  (SELECT count(*) FROM summaries y
   WHERE y.session_id = s.id AND y.level = 'cluster' AND y.status = 'done' AND y.shown_until IS NULL
     AND y.log_position > (SELECT max(log_position) FROM generations)) AS summary_count,
  s.created_at_ms,
  coalesce((SELECT m.created_at_ms FROM messages m WHERE m.session_id = s.id ORDER BY m.seq DESC LIMIT 1), s.created_at_ms)
    AS updated_at_ms
FROM (
  SELECT
    s.*,
    CASE WHEN s.is_fork THEN (SELECT count(*) FROM messages m WHERE m.session_id = s.id)
    ELSE coalesce((SELECT max(m.seq) + 1 FROM messages m WHERE m.session_id = s.id), 0)
      - (SELECT count(*) FROM forgotten_messages f
         WHERE f.session_id = s.id AND f.seq < (SELECT max(m.seq) FROM messages m WHERE m.session_id = s.id)) END AS message_count
  FROM (SELECT s.*, EXISTS (SELECT 1 FROM shared_pasts p WHERE p.session_id = s.id) AS is_fork FROM sessions s) s
  WHERE s.superseded_at_ms IS NULL
) s;
--> statement-breakpoint

-- What summaries have cost, by session and summarizer, as far as the service reports it; also those that failed, and those that
-- are not kept. Claimed ones are under way.
CREATE VIEW summary_costs AS
SELECT
  session_id,
  summarizer_id,
  sum(status = 'done') AS summary_count,
  sum(status = 'failed') AS failed_count,
  sum(status = 'parked') AS parked_count,
  sum(status = 'claimed') AS claimed_count,
  coalesce(sum(input_tokens), 0) AS input_tokens,
  coalesce(sum(output_tokens), 0) AS output_tokens,
  sum(cost_usd) AS cost_usd
FROM (
  SELECT session_id, summarizer_id, status, input_tokens, output_tokens, cost_usd FROM summaries WHERE status <> 'due'
  UNION ALL
  SELECT session_id, summarizer_id, 'discarded', input_tokens, output_tokens, cost_usd FROM discarded_costs
)
GROUP BY session_id, summarizer_id;
--> statement-breakpoint

-- What models were paid for, as far as transcripts tell.
--
-- Programs name the counts differently. Some repeat those of a reply on each of its messages, or smaller ones while it was written,
-- and copies of a session have the replies of the original: each reply counts once, with its largest counts. `input_tokens` does
-- not include what came from a cache.
CREATE VIEW usage AS
WITH told AS (
  SELECT m.id, m.session_id, m.metadata,
    coalesce(json_extract(m.metadata, '$.message.usage'), json_extract(m.metadata, '$.usage'),
      json_extract(m.metadata, '$.tokens'), json_extract(m.metadata, '$.anthropic.coppice.reply.usage')) AS counts,
    coalesce(
      json_extract(m.metadata, '$.message.id') || ' ' || json_extract(m.metadata, '$.requestId'),
      CASE WHEN s.source IN ('ai-sdk', 'gemini-cli', 'opencode') THEN
        m.session_id || ' ' || substr(m.external_id, 1, instr(m.external_id || '/', '/') - 1) END,
      m.id) AS reply
  FROM messages m
  JOIN sessions s ON s.id = m.session_id
  WHERE m.role = 'assistant' AND m.metadata IS NOT NULL
),
counted AS (
  SELECT id, session_id, reply,
    coalesce(json_extract(metadata, '$.message.model'), json_extract(metadata, '$.model'),
      json_extract(metadata, '$.modelID'), json_extract(metadata, '$.anthropic.coppice.reply.model')) AS model,
    coalesce(json_extract(counts, '$.input_tokens'), json_extract(counts, '$.inputTokens'), json_extract(counts, '$.input'), 0)
      - coalesce(json_extract(counts, '$.cached_input_tokens'), json_extract(counts, '$.cached'), 0) AS input_tokens,
    coalesce(json_extract(counts, '$.cache_read_input_tokens'), json_extract(counts, '$.cached_input_tokens'),
      json_extract(counts, '$.cached'), json_extract(counts, '$.cacheRead'), json_extract(counts, '$.cache.read'), 0)
      AS cache_read_tokens,
    coalesce(json_extract(counts, '$.cache_creation_input_tokens'), json_extract(counts, '$.cacheWrite'),
      json_extract(counts, '$.cache.write'), 0) AS cache_write_tokens,
    coalesce(json_extract(counts, '$.output_tokens'), json_extract(counts, '$.outputTokens'), json_extract(counts, '$.output'), 0)
      + coalesce(json_extract(counts, '$.thoughts'), json_extract(counts, '$.reasoning'), 0) AS output_tokens,
    coalesce(json_extract(metadata, '$.cost'), json_extract(counts, '$.cost.total')) AS cost_usd
  FROM told
  WHERE json_type(counts) = 'object'
),
replies AS (
  SELECT min(id) AS id, max(model) AS model, max(input_tokens) AS input_tokens, max(cache_read_tokens) AS cache_read_tokens,
    max(cache_write_tokens) AS cache_write_tokens, max(output_tokens) AS output_tokens, max(cost_usd) AS cost_usd
  FROM counted GROUP BY reply
)
SELECT
  CASE WHEN s.superseded_at_ms IS NULL THEN s.id ELSE s.parent_session_id END AS session_id,
  s.project,
  date(m.created_at_ms / 1000, 'unixepoch') AS day,
  r.model,
  count(*) AS reply_count,
  sum(r.input_tokens) AS input_tokens,
  sum(r.cache_read_tokens) AS cache_read_tokens,
  sum(r.cache_write_tokens) AS cache_write_tokens,
  sum(r.output_tokens) AS output_tokens,
  sum(r.cost_usd) AS cost_usd
FROM replies r
JOIN messages m ON m.id = r.id
JOIN sessions s ON s.id = m.session_id
GROUP BY 1, s.project, day, r.model;
--> statement-breakpoint

-- Messages whose vectors are to come, and those that an embedder refuses, with what became of the last try.
CREATE VIEW vectors_pending AS
SELECT
  p.message_id,
  p.session_id,
  m.seq,
  m.role,
  p.status,
  p.due_since_ms,
  p.attempts,
  p.next_try_at_ms,
  p.claimed_until_ms,
  p.error_code,
  p.error
FROM pending_vectors p
JOIN messages m ON m.id = p.message_id;
--> statement-breakpoint

-- Who wrote each session: the agent whose transcript was imported, or NULL for a program that uses the library. `started_by` is the
-- session that started it, as an agent starts a subagent, and `forked_from` the one whose messages it shares.
CREATE VIEW session_agents AS
SELECT
  s.id AS session_id, s.project, s.source AS agent,
  CASE WHEN p.session_id IS NULL THEN s.parent_session_id END AS started_by,
  CASE WHEN p.session_id IS NOT NULL THEN s.parent_session_id END AS forked_from
FROM sessions s
LEFT JOIN (SELECT DISTINCT session_id FROM shared_pasts) p ON p.session_id = s.id
WHERE s.superseded_at_ms IS NULL;
--> statement-breakpoint

-- What replaced what: each message that `rewind`, `edit` or the user of an agent took back, and the message that has its seq now.
CREATE VIEW replaced_messages AS
SELECT
  m.id AS message_id, b.parent_session_id AS session_id, b.id AS branch_id, m.seq, b.superseded_at_ms AS replaced_at_ms,
  r.id AS replaced_by
FROM sessions b
JOIN messages m ON m.session_id = b.id
LEFT JOIN messages r ON r.session_id = b.parent_session_id AND r.seq = m.seq
WHERE b.superseded_at_ms IS NOT NULL;
--> statement-breakpoint

-- What people said later of messages: that a remembered one replaces it, or that it is rejected, and why. `verdict_id` says so. A
-- message is named by its session, seq and time, which hold in every store. If it was forgotten, it has no row here.
CREATE VIEW verdicts AS
SELECT
  t.id AS message_id, t.session_id, t.seq, CASE v.key WHEN 'rejects' THEN 'rejected' ELSE 'replaced' END AS kind,
  m.id AS verdict_id, m.created_at_ms AS said_at_ms
FROM sessions s
CROSS JOIN messages m ON m.session_id = s.id AND m.metadata IS NOT NULL
CROSS JOIN json_each(CASE WHEN json_valid(m.metadata) THEN m.metadata ELSE '{}' END, '$.remembered') v
  ON v.key IN ('replaces', 'rejects') AND v.type = 'object'
CROSS JOIN messages t ON t.session_id = v.value ->> 'sessionId' AND t.seq = v.value ->> 'seq'
  AND t.created_at_ms = v.value ->> 'atMs'
WHERE s.id >= 'remembered-' AND s.id < 'remembered.' AND s.superseded_at_ms IS NULL;
--> statement-breakpoint

-- What tool calls did, so that files, commands and errors are found by name. Upkeep fills the table `actions`.
CREATE VIEW work AS
SELECT
  m.session_id, s.project, m.seq, m.created_at_ms, a.kind,
  CASE WHEN substr(a.target, 1, length(s.project) + 1) = s.project || '/'
    THEN substr(a.target, length(s.project) + 2) ELSE a.target END AS target,
  a.outcome, a.error, a.message_id, a.result_id
FROM actions a
JOIN messages m ON m.id = a.message_id
JOIN sessions s ON s.id = m.session_id
WHERE s.superseded_at_ms IS NULL;
