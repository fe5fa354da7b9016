-- A session can go back. The messages that leave its path become a branch: a row of `sessions` with the time at which they
-- were superseded. Views show paths only. An older version refuses the file after this one.
ALTER TABLE `sessions` ADD `superseded_at_ms` integer;--> statement-breakpoint
ALTER TABLE `sessions` ADD `rewind_number` integer;--> statement-breakpoint
CREATE INDEX `sessions_superseded` ON `sessions` (`id`) WHERE "sessions"."superseded_at_ms" is not null;--> statement-breakpoint

CREATE TABLE `undone_unions` (
	`id` integer NOT NULL,
	`session_id` text NOT NULL,
	`generation` integer NOT NULL,
	`level` text NOT NULL,
	`kind` text NOT NULL,
	`node` integer NOT NULL,
	`root` integer NOT NULL,
	`score` real,
	`undone_at` integer NOT NULL,
	`members` text,
	PRIMARY KEY(`id`, `undone_at`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `undone_unions_by_root` ON `undone_unions` (`root`,`id`);--> statement-breakpoint
CREATE INDEX `undone_unions_by_session` ON `undone_unions` (`session_id`,`undone_at`);--> statement-breakpoint

CREATE TABLE `frontier_moves` (
	`session_id` text NOT NULL,
	`seq_end` integer NOT NULL,
	`graduated_seq` integer NOT NULL,
	`evicted_seq` integer NOT NULL,
	`log_position` integer NOT NULL,
	PRIMARY KEY(`session_id`, `seq_end`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `theme_checkpoints` (
	`id` integer PRIMARY KEY NOT NULL,
	`session_id` text NOT NULL,
	`log_position` integer NOT NULL,
	`graduated_seq` integer NOT NULL,
	`themes` text NOT NULL,
	`checksum` integer,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `theme_checkpoints_by_session` ON `theme_checkpoints` (`session_id`,`log_position`);--> statement-breakpoint


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

-- Messages of the forest that no finished summary covers.
CREATE VIEW uncovered AS
WITH RECURSIVE used(generation, log_position) AS (
  SELECT id, log_position FROM generations ORDER BY id DESC LIMIT 1
),
tree(level, log_position, root_id) AS (
  SELECT y.level, y.log_position, y.root_id
  FROM summaries y
  WHERE y.level IN ('cluster', 'theme') AND y.status = 'done' AND y.shown_until IS NULL
    AND y.log_position > (SELECT log_position FROM used)
  UNION
  SELECT tree.level, tree.log_position, u.node
  FROM tree
  JOIN unions u ON u.root = tree.root_id AND u.level = 'theme' AND u.kind = 'unite' AND u.id <= tree.log_position
    AND u.generation = (SELECT generation FROM used)
  WHERE tree.level = 'theme'
),
covered(step_id) AS (
  SELECT DISTINCT u.node
  FROM tree
  JOIN unions u ON u.root = tree.root_id AND u.level = 'cluster' AND u.kind IN ('start', 'join')
    AND u.id <= tree.log_position AND u.generation = (SELECT generation FROM used)
)
SELECT m.id AS message_id, m.session_id, m.seq, m.role, m.token_count
FROM messages m
JOIN sessions s ON s.id = m.session_id
WHERE m.pinned = 0 AND m.seq < s.graduated_seq AND s.superseded_at_ms IS NULL
  AND m.step_id NOT IN (SELECT step_id FROM covered);
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
  WHERE s.superseded_at_ms IS NULL
) s;
