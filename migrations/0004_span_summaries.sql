-- What stands for the old part of `flat` and `sandwich` contexts. An older version refuses the file after this one.
CREATE TABLE `span_summaries` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`session_id` text NOT NULL,
	`strategy` text NOT NULL,
	`first_id` integer NOT NULL,
	`last_id` integer NOT NULL,
	`seq_first` integer NOT NULL,
	`seq_last` integer NOT NULL,
	`message_count` integer NOT NULL,
	`source_token_count` integer NOT NULL,
	`source_digest` text NOT NULL,
	`reading_depth` integer NOT NULL,
	`status` text NOT NULL,
	`title` text,
	`text` text,
	`token_count` integer,
	`summarizer_id` text,
	`prompt_version` integer,
	`error` text,
	`attempts` integer NOT NULL,
	`created_at_ms` integer NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "span_summaries_done_has_text" CHECK(("span_summaries"."status" = 'done') = ("span_summaries"."text" is not null))
);
--> statement-breakpoint
CREATE INDEX `span_summaries_by_session` ON `span_summaries` (`session_id`,`strategy`,`id`);