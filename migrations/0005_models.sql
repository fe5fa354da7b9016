-- Vectors of embedders that are elsewhere come after their messages; who is at work on which summary, when a failed try is made
-- again, and what each has cost; and a forest grown again with another embedder beside the one in use, with the views, which
-- show the one in use. An older version refuses the file after this one.
CREATE TABLE `pending_vectors` (
	`message_id` integer PRIMARY KEY NOT NULL,
	`session_id` text NOT NULL,
	`status` text DEFAULT 'due' NOT NULL,
	`due_since_ms` integer NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`next_try_at_ms` integer DEFAULT 0 NOT NULL,
	`error_code` text,
	`error` text,
	`claimant` text,
	`claimed_until_ms` integer,
	FOREIGN KEY (`message_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "pending_vectors_status_known" CHECK("pending_vectors"."status" in ('due', 'refused'))
);
--> statement-breakpoint
CREATE INDEX `pending_vectors_by_session` ON `pending_vectors` (`session_id`,`message_id`);
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

CREATE TABLE `discarded_costs` (
	`session_id` text NOT NULL,
	`summarizer_id` text NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cost_usd` real,
	PRIMARY KEY(`session_id`, `summarizer_id`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
ALTER TABLE `span_summaries` ADD `claimant` text;--> statement-breakpoint
ALTER TABLE `span_summaries` ADD `claimed_until_ms` integer;--> statement-breakpoint
ALTER TABLE `span_summaries` ADD `error_code` text;--> statement-breakpoint
ALTER TABLE `span_summaries` ADD `next_try_at_ms` integer;--> statement-breakpoint
ALTER TABLE `span_summaries` ADD `pauses` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `span_summaries` ADD `stands_in` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `span_summaries` ADD `input_tokens` integer;--> statement-breakpoint
ALTER TABLE `span_summaries` ADD `output_tokens` integer;--> statement-breakpoint
ALTER TABLE `span_summaries` ADD `cost_usd` real;--> statement-breakpoint
CREATE UNIQUE INDEX `span_summaries_claimed` ON `span_summaries` (`session_id`,`strategy`) WHERE "span_summaries"."status" = 'claimed';--> statement-breakpoint
CREATE INDEX `span_summaries_pausing` ON `span_summaries` (`summarizer_id`,`next_try_at_ms`) WHERE "span_summaries"."pauses" = 1;--> statement-breakpoint
ALTER TABLE `summaries` ADD `claimant` text;--> statement-breakpoint
ALTER TABLE `summaries` ADD `claimed_until_ms` integer;--> statement-breakpoint
ALTER TABLE `summaries` ADD `error_code` text;--> statement-breakpoint
ALTER TABLE `summaries` ADD `next_try_at_ms` integer;--> statement-breakpoint
ALTER TABLE `summaries` ADD `pauses` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `summaries` ADD `stands_in` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `summaries` ADD `input_tokens` integer;--> statement-breakpoint
ALTER TABLE `summaries` ADD `output_tokens` integer;--> statement-breakpoint
ALTER TABLE `summaries` ADD `cost_usd` real;--> statement-breakpoint
CREATE UNIQUE INDEX `summaries_claimed` ON `summaries` (`root_id`) WHERE "summaries"."status" = 'claimed';--> statement-breakpoint
CREATE INDEX `summaries_pausing` ON `summaries` (`summarizer_id`,`next_try_at_ms`) WHERE "summaries"."pauses" = 1;--> statement-breakpoint

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
  SELECT session_id, summarizer_id, status, input_tokens, output_tokens, cost_usd FROM summaries
  UNION ALL
  SELECT session_id, summarizer_id, status, input_tokens, output_tokens, cost_usd FROM span_summaries WHERE status <> 'due'
  UNION ALL
  SELECT session_id, summarizer_id, 'discarded', input_tokens, output_tokens, cost_usd FROM discarded_costs
)
GROUP BY session_id, summarizer_id;
--> statement-breakpoint

CREATE TABLE `reembedded_vectors` (
	`generation` integer NOT NULL,
	`embedder_id` text NOT NULL,
	`message_id` integer NOT NULL,
	`embedding` blob,
	PRIMARY KEY(`generation`, `embedder_id`, `message_id`),
	FOREIGN KEY (`message_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `reembedded_vectors_by_message` ON `reembedded_vectors` (`message_id`);--> statement-breakpoint
DROP INDEX `unions_by_node`;--> statement-breakpoint
CREATE UNIQUE INDEX `unions_by_node` ON `unions` (`node`,`kind`,`generation`) WHERE "unions"."level" <> 'subject';--> statement-breakpoint
ALTER TABLE `generations` ADD `log_position` integer DEFAULT 0 NOT NULL;--> statement-breakpoint

-- Which message is in which cluster, and the log position at which it came in. The session is the log's, by which SQLite
-- finds the rows of one session; by that of the messages it would read all.
CREATE VIEW cluster_members AS
SELECT u.root AS cluster_id, m.id AS message_id, u.session_id, m.seq, u.id AS log_position
FROM unions u
JOIN messages m ON m.id = u.node OR (m.step_id = u.node AND m.step_id <> m.id)
WHERE u.kind IN ('start', 'join') AND u.level = 'cluster' AND u.generation = (SELECT max(id) FROM generations);
--> statement-breakpoint

-- Which message is in which theme now.
CREATE VIEW theme_members AS
WITH RECURSIVE up(cluster_id, root_id) AS (
  SELECT root_id, root_id FROM clusters
  UNION
  SELECT up.cluster_id, u.root
  FROM up
  JOIN unions u ON u.node = up.root_id AND u.kind = 'unite' AND u.level <> 'subject'
    AND u.generation = (SELECT max(id) FROM generations)
)
SELECT t.root_id AS theme_id, cm.cluster_id, cm.message_id, cm.session_id, cm.seq, cm.log_position
FROM up
JOIN themes t ON t.root_id = up.root_id
JOIN cluster_members cm ON cm.cluster_id = up.cluster_id;
--> statement-breakpoint

-- Messages of the forest that no finished summary covers.
CREATE VIEW uncovered AS
WITH RECURSIVE used(generation, log_position) AS (
  SELECT id, log_position FROM generations ORDER BY id DESC LIMIT 1
),
tree(summary_id, log_position, root_id) AS (
  SELECT y.id, y.log_position, y.root_id
  FROM summaries y
  WHERE y.status = 'done' AND y.shown_until IS NULL AND y.log_position > (SELECT log_position FROM used)
  UNION
  SELECT tree.summary_id, tree.log_position, u.node
  FROM tree
  JOIN unions u ON u.root = tree.root_id AND u.level = 'theme' AND u.kind = 'unite' AND u.id <= tree.log_position
    AND u.generation = (SELECT generation FROM used)
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
  (SELECT count(*) FROM summaries y
   WHERE y.session_id = s.id AND y.status = 'done' AND y.shown_until IS NULL
     AND y.log_position > (SELECT max(log_position) FROM generations)) AS summary_count,
  s.created_at_ms,
  coalesce(max(m.created_at_ms), s.created_at_ms) AS updated_at_ms
FROM sessions s
LEFT JOIN messages m ON m.session_id = s.id
GROUP BY s.id;
