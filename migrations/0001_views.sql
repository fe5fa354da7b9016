-- What people query. A view changes nothing and holds nothing; an older version may open the file after this one.

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
JOIN sessions s ON s.id = m.session_id;
--> statement-breakpoint

-- Which message is in which cluster, and the log position at which it came in.
CREATE VIEW cluster_members AS
SELECT u.root AS cluster_id, m.id AS message_id, m.session_id, m.seq, u.id AS log_position
FROM unions u
JOIN messages m ON m.id = u.node OR (m.step_id = u.node AND m.step_id <> m.id)
WHERE u.kind IN ('start', 'join');
--> statement-breakpoint

-- Which message is in which theme now.
CREATE VIEW theme_members AS
WITH RECURSIVE up(cluster_id, root_id) AS (
  SELECT root_id, root_id FROM clusters
  UNION
  SELECT up.cluster_id, u.root FROM up JOIN unions u ON u.node = up.root_id AND u.kind = 'unite'
)
SELECT t.root_id AS theme_id, cm.cluster_id, cm.message_id, cm.session_id, cm.seq, cm.log_position
FROM up
JOIN themes t ON t.root_id = up.root_id
JOIN cluster_members cm ON cm.cluster_id = up.cluster_id;
--> statement-breakpoint

-- Messages of the forest that no finished summary covers.
CREATE VIEW uncovered AS
WITH RECURSIVE tree(summary_id, log_position, root_id) AS (
  SELECT id, log_position, root_id FROM summaries WHERE status = 'done' AND shown_until IS NULL
  UNION
  SELECT tree.summary_id, tree.log_position, u.node
  FROM tree
  JOIN unions u ON u.root = tree.root_id AND u.kind = 'unite' AND u.id <= tree.log_position
),
covered(step_id) AS (
  SELECT DISTINCT u.node
  FROM tree
  JOIN unions u ON u.root = tree.root_id AND u.kind IN ('start', 'join') AND u.id <= tree.log_position
)
SELECT m.id AS message_id, m.session_id, m.seq, m.role, m.token_count
FROM messages m
JOIN sessions s ON s.id = m.session_id
WHERE m.pinned = 0 AND m.seq < s.graduated_seq AND m.step_id NOT IN (SELECT step_id FROM covered);
--> statement-breakpoint

-- One row a session, also for those without a message.
CREATE VIEW session_stats AS
SELECT
  s.id AS session_id,
  s.project,
  s.title,
  count(m.id) AS message_count,
  coalesce(sum(m.token_count), 0) AS token_count,
  coalesce(sum(m.pinned), 0) AS pinned_count,
  coalesce(sum(m.pinned = 1 OR m.seq >= s.evicted_seq), 0) AS hot_count,
  coalesce(sum(m.pinned = 0 AND m.seq < s.graduated_seq), 0) AS cold_count,
  coalesce(sum(m.pinned = 0 AND m.seq < s.graduated_seq AND m.seq >= s.evicted_seq), 0) AS overlap_count,
  (SELECT count(*) FROM clusters c WHERE c.session_id = s.id) AS cluster_count,
  (SELECT count(*) FROM themes t WHERE t.session_id = s.id) AS theme_count,
  (SELECT count(*) FROM summaries y WHERE y.session_id = s.id AND y.status = 'done' AND y.shown_until IS NULL) AS summary_count,
  s.created_at_ms,
  coalesce(max(m.created_at_ms), s.created_at_ms) AS updated_at_ms
FROM sessions s
LEFT JOIN messages m ON m.session_id = s.id
GROUP BY s.id;
