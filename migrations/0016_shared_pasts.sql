-- A fork shares its past with the session that it began in. A cluster or theme that was open then grows in both, so each has a row
-- for it. An older version refuses the file after this one.
CREATE TABLE `shared_pasts` (
	`session_id` text NOT NULL,
	`holder_id` text NOT NULL,
	`seq_first` integer NOT NULL,
	`seq_last` integer NOT NULL,
	`log_position` integer NOT NULL,
	PRIMARY KEY(`session_id`, `seq_first`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`holder_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE restrict
);
--> statement-breakpoint
CREATE INDEX `shared_pasts_by_holder` ON `shared_pasts` (`holder_id`);--> statement-breakpoint

CREATE TABLE `__new_clusters` (
	`root_id` integer NOT NULL,
	`session_id` text NOT NULL,
	`step_count` integer NOT NULL,
	`message_count` integer NOT NULL,
	`token_count` integer NOT NULL,
	`centroid_sum` blob NOT NULL,
	`vector_count` integer NOT NULL,
	`seq_first` integer NOT NULL,
	`seq_last` integer NOT NULL,
	`turn_last` integer NOT NULL,
	`last_at_ms` integer NOT NULL,
	`speakers` text NOT NULL,
	`label` text NOT NULL,
	`log_position` integer NOT NULL,
	`settled_at` integer,
	`subject_parent_id` integer,
	`checksum` integer,
	PRIMARY KEY(`root_id`, `session_id`),
	FOREIGN KEY (`root_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
INSERT INTO `__new_clusters`("root_id", "session_id", "step_count", "message_count", "token_count", "centroid_sum", "vector_count", "seq_first", "seq_last", "turn_last", "last_at_ms", "speakers", "label", "log_position", "settled_at", "subject_parent_id", "checksum") SELECT "root_id", "session_id", "step_count", "message_count", "token_count", "centroid_sum", "vector_count", "seq_first", "seq_last", "turn_last", "last_at_ms", "speakers", "label", "log_position", "settled_at", "subject_parent_id", "checksum" FROM `clusters`;--> statement-breakpoint
DROP TABLE `clusters`;--> statement-breakpoint
ALTER TABLE `__new_clusters` RENAME TO `clusters`;--> statement-breakpoint
CREATE INDEX `clusters_by_session` ON `clusters` (`session_id`,`seq_last`);--> statement-breakpoint
CREATE INDEX `clusters_open` ON `clusters` (`session_id`) WHERE "clusters"."settled_at" is null;--> statement-breakpoint
CREATE INDEX `clusters_settled` ON `clusters` (`settled_at`) WHERE "clusters"."settled_at" is not null;--> statement-breakpoint
CREATE INDEX `clusters_by_subject` ON `clusters` (`subject_parent_id`) WHERE "clusters"."subject_parent_id" is not null;--> statement-breakpoint

CREATE TABLE `__new_themes` (
	`root_id` integer NOT NULL,
	`session_id` text NOT NULL,
	`cluster_count` integer NOT NULL,
	`message_count` integer NOT NULL,
	`token_count` integer NOT NULL,
	`centroid_sum` blob NOT NULL,
	`vector_count` integer NOT NULL,
	`seq_first` integer NOT NULL,
	`seq_last` integer NOT NULL,
	`log_position` integer NOT NULL,
	`checksum` integer,
	PRIMARY KEY(`root_id`, `session_id`),
	FOREIGN KEY (`root_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
INSERT INTO `__new_themes`("root_id", "session_id", "cluster_count", "message_count", "token_count", "centroid_sum", "vector_count", "seq_first", "seq_last", "log_position", "checksum") SELECT "root_id", "session_id", "cluster_count", "message_count", "token_count", "centroid_sum", "vector_count", "seq_first", "seq_last", "log_position", "checksum" FROM `themes`;--> statement-breakpoint
DROP TABLE `themes`;--> statement-breakpoint
ALTER TABLE `__new_themes` RENAME TO `themes`;--> statement-breakpoint
CREATE INDEX `themes_by_session` ON `themes` (`session_id`);--> statement-breakpoint

DROP INDEX `unions_by_node`;--> statement-breakpoint
CREATE UNIQUE INDEX `unions_by_node` ON `unions` (`node`,`kind`,`generation`,`session_id`) WHERE "unions"."level" <> 'subject';--> statement-breakpoint
DROP INDEX `summaries_claimed`;--> statement-breakpoint
CREATE UNIQUE INDEX `summaries_claimed` ON `summaries` (`root_id`,`level`,`session_id`) WHERE "summaries"."status" = 'claimed';--> statement-breakpoint

-- Views show the messages that a session holds itself. A fork's past is in `shared_pasts`.
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

-- Messages of the forest that no finished summary covers.
CREATE VIEW uncovered AS
WITH RECURSIVE used(generation, log_position) AS (
  SELECT id, log_position FROM generations ORDER BY id DESC LIMIT 1
),
tree(session_id, level, log_position, root_id) AS (
  SELECT y.session_id, y.level, y.log_position, y.root_id
  FROM summaries y
  WHERE y.level IN ('cluster', 'theme') AND y.status = 'done' AND y.shown_until IS NULL
    AND y.log_position > (SELECT log_position FROM used)
  UNION
  SELECT tree.session_id, tree.level, tree.log_position, u.node
  FROM tree
  JOIN unions u ON u.root = tree.root_id AND u.level = 'theme' AND u.kind = 'unite' AND u.id <= tree.log_position
    AND u.generation = (SELECT generation FROM used)
    AND (u.session_id = tree.session_id OR u.id <= (
      SELECT p.log_position FROM shared_pasts p WHERE p.session_id = tree.session_id AND p.holder_id = u.session_id))
  WHERE tree.level = 'theme'
),
covered(session_id, step_id) AS (
  SELECT DISTINCT u.session_id, u.node
  FROM tree
  JOIN unions u ON u.root = tree.root_id AND u.level = 'cluster' AND u.kind IN ('start', 'join')
    AND u.id <= tree.log_position AND u.generation = (SELECT generation FROM used) AND u.session_id = tree.session_id
)
SELECT m.id AS message_id, m.session_id, m.seq, m.role, m.token_count
FROM messages m
JOIN sessions s ON s.id = m.session_id
WHERE m.pinned = 0 AND m.seq < s.graduated_seq AND s.superseded_at_ms IS NULL
  AND (m.session_id, m.step_id) NOT IN (SELECT session_id, step_id FROM covered);
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
   WHERE y.session_id = s.id AND y.level IN ('cluster', 'theme') AND y.status = 'done' AND y.shown_until IS NULL
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

-- A cluster that a fork shares is in the subject that it has in the session that began it.
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
