-- Vectors of embedders that are elsewhere come after their messages; and who is at work on which summary, when a failed try is
-- made again, and what each has cost. An older version refuses the file after this one.
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
