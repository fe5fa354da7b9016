-- All summaries are in one table. An older version refuses the file after this one.
--
-- Rows of spans are named by their first and last message, as their handles are. Claims are deleted: the store that holds one is of
-- an older version. Quotes of whole themes are taken out of contexts, which quote more by themselves. What a model said of whole
-- themes stays.
DELETE FROM `summaries` WHERE `status` = 'claimed';--> statement-breakpoint
UPDATE `summaries` SET `shown_until` = (SELECT coalesce(max(`id`), 0) FROM `unions`)
WHERE `status` = 'done' AND `shown_until` IS NULL AND (`stands_in` = 1 OR `summarizer_id` = 'extractive');--> statement-breakpoint
INSERT INTO `summaries` (
  `session_id`, `level`, `root_id`, `log_position`, `seq_first`, `seq_last`, `message_count`, `source_token_count`, `source_digest`,
  `reading_depth`, `status`, `title`, `text`, `token_count`, `summarizer_id`, `prompt_version`, `error`, `attempts`, `created_at_ms`,
  `claimant`, `claimed_until_ms`, `error_code`, `next_try_at_ms`, `pauses`, `stands_in`, `input_tokens`, `output_tokens`, `cost_usd`
)
SELECT
  `session_id`, `strategy`, `first_id`, `last_id`, `seq_first`, `seq_last`, `message_count`, `source_token_count`, `source_digest`,
  `reading_depth`, `status`, `title`, `text`, `token_count`, coalesce(`summarizer_id`, ''), coalesce(`prompt_version`, 0), `error`,
  `attempts`, `created_at_ms`, `claimant`, `claimed_until_ms`, `error_code`, `next_try_at_ms`, `pauses`, `stands_in`, `input_tokens`,
  `output_tokens`, `cost_usd`
FROM `span_summaries` WHERE `status` <> 'claimed' ORDER BY `id`;--> statement-breakpoint
DROP TABLE `span_summaries`;--> statement-breakpoint
DROP INDEX `summaries_claimed`;--> statement-breakpoint
CREATE UNIQUE INDEX `summaries_claimed` ON `summaries` (`root_id`,`level`) WHERE "summaries"."status" = 'claimed';--> statement-breakpoint

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
   WHERE y.session_id = s.id AND y.level IN ('cluster', 'theme') AND y.status = 'done' AND y.shown_until IS NULL
     AND y.log_position > (SELECT max(log_position) FROM generations)) AS summary_count,
  s.created_at_ms,
  coalesce(max(m.created_at_ms), s.created_at_ms) AS updated_at_ms
FROM sessions s
LEFT JOIN messages m ON m.session_id = s.id
GROUP BY s.id;
