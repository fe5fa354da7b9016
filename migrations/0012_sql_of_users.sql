-- Queries for one message, cluster or session read only its rows. An older version refuses the file after this one.
CREATE INDEX `messages_by_parent` ON `messages` (`parent_id`);--> statement-breakpoint

-- Which message is in which cluster, and the log position at which it came in. The session is the log's, by which SQLite
-- finds the rows of one session. A message's row of the log is found by its step.
CREATE VIEW cluster_members AS
SELECT u.root AS cluster_id, m.id AS message_id, u.session_id, m.seq, u.id AS log_position
FROM unions u
JOIN messages m ON m.step_id = u.node AND (m.id = u.node OR (m.step_id = u.node AND m.step_id <> m.id))
WHERE u.kind IN ('start', 'join') AND u.level = 'cluster' AND u.level <> 'subject'
  AND u.generation = (SELECT max(id) FROM generations);
--> statement-breakpoint

-- Which message is in which theme now. The walk begins at each cluster that is asked for.
CREATE VIEW theme_members AS
SELECT t.root_id AS theme_id, c.root_id AS cluster_id, cm.message_id, c.session_id, cm.seq, cm.log_position
FROM clusters c
JOIN themes t ON t.session_id = c.session_id AND t.root_id = (
  WITH RECURSIVE up(root_id, log_position) AS (
    SELECT c.root_id, 0
    UNION ALL
    SELECT u.root, u.id
    FROM up
    JOIN unions u ON u.node = up.root_id AND u.kind = 'unite' AND u.level <> 'subject'
      AND u.generation = (SELECT max(id) FROM generations)
  )
  SELECT root_id FROM up ORDER BY log_position DESC LIMIT 1
)
JOIN cluster_members cm ON cm.cluster_id = c.root_id;
--> statement-breakpoint

-- One row a session, also for those without a message. Only messages outside the forest are counted one by one: the rows of
-- themes have the others. Seqs are dense, except for forgotten messages.
CREATE VIEW session_stats AS
SELECT
  s.id AS session_id,
  s.project,
  s.title,
  s.message_count,
  (SELECT coalesce(sum(t.token_count), 0) FROM themes t WHERE t.session_id = s.id)
    + (SELECT coalesce(sum(m.token_count), 0) FROM messages m WHERE m.session_id = s.id AND m.seq >= s.graduated_seq)
    + (SELECT coalesce(sum(m.token_count), 0) FROM messages m
       WHERE m.session_id = s.id AND m.pinned = 1 AND m.seq < s.graduated_seq) AS token_count,
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
   WHERE y.session_id = s.id AND y.level IN ('cluster', 'theme') AND y.status = 'done' AND y.shown_until IS NULL
     AND y.log_position > (SELECT max(log_position) FROM generations)) AS summary_count,
  s.created_at_ms,
  coalesce((SELECT m.created_at_ms FROM messages m WHERE m.session_id = s.id ORDER BY m.seq DESC LIMIT 1), s.created_at_ms)
    AS updated_at_ms
FROM (
  SELECT
    s.*,
    coalesce((SELECT max(m.seq) + 1 FROM messages m WHERE m.session_id = s.id), 0)
      - (SELECT count(*) FROM forgotten_messages f
         WHERE f.session_id = s.id AND f.seq < (SELECT max(m.seq) FROM messages m WHERE m.session_id = s.id)) AS message_count
  FROM sessions s
) s;
