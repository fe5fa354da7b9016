-- Vectors of embedders that are elsewhere come after their messages. An older version refuses the file after this one.
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
