CREATE TABLE `artifacts` (
	`sha256` text PRIMARY KEY NOT NULL,
	`encoding` text NOT NULL,
	`byte_length` integer NOT NULL,
	`compressed` integer NOT NULL,
	`content` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `clusters` (
	`root_id` integer PRIMARY KEY NOT NULL,
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
	FOREIGN KEY (`root_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `clusters_by_session` ON `clusters` (`session_id`,`seq_last`);--> statement-breakpoint
CREATE INDEX `clusters_open` ON `clusters` (`session_id`) WHERE "clusters"."settled_at" is null;--> statement-breakpoint
CREATE TABLE `forgotten_messages` (
	`session_id` text NOT NULL,
	`seq` integer NOT NULL,
	`forgotten_at_ms` integer NOT NULL,
	PRIMARY KEY(`session_id`, `seq`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `generations` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`embedder_id` text NOT NULL,
	`dimension` integer NOT NULL,
	`created_at_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `message_artifacts` (
	`message_id` integer NOT NULL,
	`pointer` text NOT NULL,
	`sha256` text NOT NULL,
	PRIMARY KEY(`message_id`, `pointer`),
	FOREIGN KEY (`message_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`sha256`) REFERENCES `artifacts`(`sha256`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `message_artifacts_by_sha256` ON `message_artifacts` (`sha256`);--> statement-breakpoint
CREATE TABLE `messages` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`session_id` text NOT NULL,
	`seq` integer NOT NULL,
	`step_id` integer NOT NULL,
	`turn_seq` integer NOT NULL,
	`parent_id` integer NOT NULL,
	`role` text NOT NULL,
	`pinned` integer NOT NULL,
	`token_count` integer NOT NULL,
	`created_at_ms` integer NOT NULL,
	`name` text,
	`external_id` text,
	`token_counter` text NOT NULL,
	`digest` blob NOT NULL,
	`embedding` blob,
	`embedder_id` text,
	`metadata` text,
	`text` text NOT NULL,
	`parts` text NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "messages_role_known" CHECK("messages"."role" in ('system', 'user', 'assistant', 'tool')),
	CONSTRAINT "messages_step_not_later" CHECK("messages"."step_id" <= "messages"."id")
);
--> statement-breakpoint
CREATE UNIQUE INDEX `messages_by_seq` ON `messages` (`session_id`,`seq`);--> statement-breakpoint
CREATE UNIQUE INDEX `messages_by_external_id` ON `messages` (`session_id`,`external_id`) WHERE "messages"."external_id" is not null;--> statement-breakpoint
CREATE INDEX `messages_by_step` ON `messages` (`step_id`) WHERE "messages"."step_id" <> "messages"."id";--> statement-breakpoint
CREATE INDEX `messages_pinned` ON `messages` (`session_id`,`seq`) WHERE "messages"."pinned" = 1;--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`project` text,
	`title` text,
	`source` text,
	`external_id` text,
	`parent_session_id` text,
	`fork_seq` integer,
	`settings` text NOT NULL,
	`metadata` text,
	`graduated_seq` integer DEFAULT 0 NOT NULL,
	`evicted_seq` integer DEFAULT 0 NOT NULL,
	`frontier_version` integer DEFAULT 0 NOT NULL,
	`created_at_ms` integer NOT NULL,
	FOREIGN KEY (`parent_session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "sessions_frontier_ordered" CHECK("sessions"."evicted_seq" >= 0 and "sessions"."evicted_seq" <= "sessions"."graduated_seq")
);
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_by_external_id` ON `sessions` (`source`,`external_id`) WHERE "sessions"."external_id" is not null;--> statement-breakpoint
CREATE INDEX `sessions_by_project` ON `sessions` (`project`);--> statement-breakpoint
CREATE INDEX `sessions_by_parent` ON `sessions` (`parent_session_id`) WHERE "sessions"."parent_session_id" is not null;--> statement-breakpoint
CREATE TABLE `summaries` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`session_id` text NOT NULL,
	`level` text NOT NULL,
	`root_id` integer NOT NULL,
	`log_position` integer NOT NULL,
	`source_digest` text NOT NULL,
	`message_count` integer NOT NULL,
	`source_token_count` integer NOT NULL,
	`seq_first` integer NOT NULL,
	`seq_last` integer NOT NULL,
	`reading_depth` integer NOT NULL,
	`status` text NOT NULL,
	`title` text,
	`text` text,
	`token_count` integer,
	`summarizer_id` text NOT NULL,
	`prompt_version` integer NOT NULL,
	`error` text,
	`attempts` integer NOT NULL,
	`created_at_ms` integer NOT NULL,
	`shown_from` integer,
	`shown_until` integer,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "summaries_done_has_text" CHECK(("summaries"."status" = 'done') = ("summaries"."text" is not null))
);
--> statement-breakpoint
CREATE INDEX `summaries_by_root` ON `summaries` (`root_id`,`log_position`);--> statement-breakpoint
CREATE INDEX `summaries_standing` ON `summaries` (`session_id`) WHERE "summaries"."status" = 'done' and "summaries"."shown_until" is null;--> statement-breakpoint
CREATE INDEX `summaries_by_session` ON `summaries` (`session_id`);--> statement-breakpoint
CREATE TABLE `themes` (
	`root_id` integer PRIMARY KEY NOT NULL,
	`session_id` text NOT NULL,
	`cluster_count` integer NOT NULL,
	`message_count` integer NOT NULL,
	`token_count` integer NOT NULL,
	`centroid_sum` blob NOT NULL,
	`vector_count` integer NOT NULL,
	`seq_first` integer NOT NULL,
	`seq_last` integer NOT NULL,
	`log_position` integer NOT NULL,
	FOREIGN KEY (`root_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `themes_by_session` ON `themes` (`session_id`);--> statement-breakpoint
CREATE TABLE `unions` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`session_id` text NOT NULL,
	`generation` integer NOT NULL,
	`level` text NOT NULL,
	`kind` text NOT NULL,
	`node` integer NOT NULL,
	`root` integer NOT NULL,
	`score` real,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`generation`) REFERENCES `generations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "unions_kind_known" CHECK(("unions"."level" = 'cluster' and "unions"."kind" in ('start', 'join', 'settle')) or ("unions"."level" = 'theme' and "unions"."kind" = 'unite'))
);
--> statement-breakpoint
CREATE INDEX `unions_by_session` ON `unions` (`session_id`,`id`);--> statement-breakpoint
CREATE INDEX `unions_by_root` ON `unions` (`root`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `unions_by_node` ON `unions` (`node`,`kind`);