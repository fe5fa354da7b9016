-- Full text, and the views that must tell subjects from themes now that the log holds both. An older version refuses the
-- file after this one. Views are taken down before a migration and put up after it, unless it makes them anew.

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

-- Which message is in which theme now.
CREATE VIEW theme_members AS
WITH RECURSIVE up(cluster_id, root_id) AS (
  SELECT root_id, root_id FROM clusters
  UNION
  SELECT up.cluster_id, u.root FROM up JOIN unions u ON u.node = up.root_id AND u.kind = 'unite' AND u.level <> 'subject'
)
SELECT t.root_id AS theme_id, cm.cluster_id, cm.message_id, cm.session_id, cm.seq, cm.log_position
FROM up
JOIN themes t ON t.root_id = up.root_id
JOIN cluster_members cm ON cm.cluster_id = up.cluster_id;
--> statement-breakpoint

-- Which message is in which cluster, and the log position at which it came in. The session is the log's, by which SQLite
-- finds the rows of one session; by that of the messages it would read all.
CREATE VIEW cluster_members AS
SELECT u.root AS cluster_id, m.id AS message_id, u.session_id, m.seq, u.id AS log_position
FROM unions u
JOIN messages m ON m.id = u.node OR (m.step_id = u.node AND m.step_id <> m.id)
WHERE u.kind IN ('start', 'join') AND u.level = 'cluster';
--> statement-breakpoint

-- Messages of the forest that no finished summary covers.
CREATE VIEW uncovered AS
WITH RECURSIVE tree(summary_id, log_position, root_id) AS (
  SELECT id, log_position, root_id FROM summaries WHERE status = 'done' AND shown_until IS NULL
  UNION
  SELECT tree.summary_id, tree.log_position, u.node
  FROM tree
  JOIN unions u ON u.root = tree.root_id AND u.level = 'theme' AND u.kind = 'unite' AND u.id <= tree.log_position
),
covered(step_id) AS (
  SELECT DISTINCT u.node
  FROM tree
  JOIN unions u ON u.root = tree.root_id AND u.level = 'cluster' AND u.kind IN ('start', 'join')
    AND u.id <= tree.log_position
)
SELECT m.id AS message_id, m.session_id, m.seq, m.role, m.token_count
FROM messages m
JOIN sessions s ON s.id = m.session_id
WHERE m.pinned = 0 AND m.seq < s.graduated_seq AND m.step_id NOT IN (SELECT step_id FROM covered);
--> statement-breakpoint

-- Which cluster is in which subject now. A cluster that is near no other is a subject of its own.
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
JOIN clusters c ON c.root_id = up.cluster_id
JOIN sessions s ON s.id = c.session_id;
