CREATE TABLE `actions` (
	`message_id` integer NOT NULL,
	`ordinal` integer NOT NULL,
	`part` integer NOT NULL,
	`result_id` integer,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`target` text NOT NULL,
	`outcome` text NOT NULL,
	`error` text,
	`checksum` integer NOT NULL,
	PRIMARY KEY(`message_id`, `ordinal`),
	FOREIGN KEY (`message_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `actions_by_name` ON `actions` (`name`,`message_id`);--> statement-breakpoint
CREATE INDEX `actions_by_error` ON `actions` (`error`,`message_id`) WHERE "actions"."error" is not null;--> statement-breakpoint
CREATE TABLE `artifacts` (
	`sha256` text PRIMARY KEY NOT NULL,
	`encoding` text NOT NULL,
	`byte_length` integer NOT NULL,
	`compressed` integer NOT NULL,
	`content` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `awake_sessions` (
	`session_id` text PRIMARY KEY NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `clusters` (
	`root_id` integer NOT NULL,
	`session_id` text NOT NULL,
	`message_count` integer NOT NULL,
	`token_count` integer NOT NULL,
	`centroid_sum` blob NOT NULL,
	`vector_count` integer NOT NULL,
	`seq_first` integer NOT NULL,
	`seq_last` integer NOT NULL,
	`log_position` integer NOT NULL,
	`step_count` integer NOT NULL,
	`turn_last` integer NOT NULL,
	`last_at_ms` integer NOT NULL,
	`speakers` text NOT NULL,
	`label` text NOT NULL,
	`settled_at` integer,
	`subject_parent_id` integer,
	`checksum` integer NOT NULL,
	PRIMARY KEY(`root_id`, `session_id`),
	FOREIGN KEY (`root_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `clusters_by_session` ON `clusters` (`session_id`,`seq_last`);--> statement-breakpoint
CREATE INDEX `clusters_open` ON `clusters` (`session_id`) WHERE "clusters"."settled_at" is null;--> statement-breakpoint
CREATE INDEX `clusters_settled` ON `clusters` (`settled_at`) WHERE "clusters"."settled_at" is not null;--> statement-breakpoint
CREATE INDEX `clusters_by_subject` ON `clusters` (`subject_parent_id`) WHERE "clusters"."subject_parent_id" is not null;--> statement-breakpoint
CREATE INDEX `clusters_unassigned` ON `clusters` (`session_id`) WHERE "clusters"."settled_at" is not null and "clusters"."subject_parent_id" is null;--> statement-breakpoint
CREATE TABLE `discarded_costs` (
	`session_id` text NOT NULL,
	`summarizer_id` text NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cost_usd` real,
	`checksum` integer NOT NULL,
	PRIMARY KEY(`session_id`, `summarizer_id`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `entries` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`session_id` text NOT NULL,
	`before_seq` integer NOT NULL,
	`external_id` text,
	`created_at_ms` integer NOT NULL,
	`encoding` text NOT NULL,
	`value` blob NOT NULL,
	`checksum` integer NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `entries_by_session` ON `entries` (`session_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `entries_by_external_id` ON `entries` (`session_id`,`external_id`) WHERE "entries"."external_id" is not null;--> statement-breakpoint
CREATE TABLE `forgotten_messages` (
	`session_id` text NOT NULL,
	`seq` integer NOT NULL,
	`forgotten_at_ms` integer NOT NULL,
	`checksum` integer NOT NULL,
	PRIMARY KEY(`session_id`, `seq`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `frontier_moves` (
	`session_id` text NOT NULL,
	`seq_end` integer NOT NULL,
	`graduated_seq` integer NOT NULL,
	`evicted_seq` integer NOT NULL,
	`log_position` integer NOT NULL,
	`checksum` integer NOT NULL,
	PRIMARY KEY(`session_id`, `seq_end`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `generations` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`embedder_id` text NOT NULL,
	`dimension` integer NOT NULL,
	`created_at_ms` integer NOT NULL,
	`rewrite_count` integer DEFAULT 0 NOT NULL,
	`log_position` integer DEFAULT 0 NOT NULL,
	`checksum` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `imported_files` (
	`path_digest` text PRIMARY KEY NOT NULL,
	`state_digest` text NOT NULL,
	`found` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `items` (
	`id` integer PRIMARY KEY NOT NULL,
	`namespace` text NOT NULL,
	`key` text NOT NULL,
	`session_id` text,
	`created_at_ms` integer NOT NULL,
	`updated_at_ms` integer NOT NULL,
	`encoding` text NOT NULL,
	`value` blob NOT NULL,
	`checksum` integer NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `items_by_key` ON `items` (`namespace`,`key`);--> statement-breakpoint
CREATE INDEX `items_by_session` ON `items` (`session_id`) WHERE "items"."session_id" is not null;--> statement-breakpoint
CREATE TABLE `message_artifacts` (
	`message_id` integer NOT NULL,
	`pointer` text NOT NULL,
	`sha256` text NOT NULL,
	`checksum` integer NOT NULL,
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
	`stored_text` text NOT NULL,
	`parts` text NOT NULL,
	`text` text GENERATED ALWAYS AS (CASE
  WHEN typeof(stored_text) <> 'blob' THEN stored_text
  WHEN json_valid(parts) THEN
    substr(
      coalesce(CASE parts ->> '$[0].type' WHEN 'text' THEN parts ->> '$[0].text' ELSE parts ->> '$[0].content' END, ''),
      1, CAST(CAST(stored_text AS TEXT) AS INTEGER))
    || substr(CAST(stored_text AS TEXT), instr(CAST(stored_text AS TEXT), ' ') + 1)
  ELSE CAST(stored_text AS TEXT)
END) VIRTUAL NOT NULL,
	`checksum` integer NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "messages_role_known" CHECK("messages"."role" in ('system', 'user', 'assistant', 'tool')),
	CONSTRAINT "messages_step_not_later" CHECK("messages"."step_id" <= "messages"."id")
);
--> statement-breakpoint
CREATE UNIQUE INDEX `messages_by_seq` ON `messages` (`session_id`,`seq`);--> statement-breakpoint
CREATE UNIQUE INDEX `messages_by_external_id` ON `messages` (`session_id`,`external_id`) WHERE "messages"."external_id" is not null;--> statement-breakpoint
CREATE INDEX `messages_by_parent` ON `messages` (`parent_id`);--> statement-breakpoint
CREATE INDEX `messages_by_step` ON `messages` (`step_id`) WHERE "messages"."step_id" <> "messages"."id";--> statement-breakpoint
CREATE INDEX `messages_pinned` ON `messages` (`session_id`,`seq`) WHERE "messages"."pinned" = 1;--> statement-breakpoint
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
CREATE INDEX `pending_vectors_by_session` ON `pending_vectors` (`session_id`,`message_id`);--> statement-breakpoint
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
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`project` text,
	`title` text,
	`author` text,
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
	`checksum` integer NOT NULL,
	`superseded_at_ms` integer,
	`rewind_number` integer,
	FOREIGN KEY (`parent_session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "sessions_frontier_ordered" CHECK("sessions"."evicted_seq" >= 0 and "sessions"."evicted_seq" <= "sessions"."graduated_seq")
);
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_by_external_id` ON `sessions` (`source`,`external_id`) WHERE "sessions"."external_id" is not null;--> statement-breakpoint
CREATE INDEX `sessions_by_project` ON `sessions` (`project`);--> statement-breakpoint
CREATE INDEX `sessions_by_parent` ON `sessions` (`parent_session_id`) WHERE "sessions"."parent_session_id" is not null;--> statement-breakpoint
CREATE INDEX `sessions_superseded` ON `sessions` (`id`) WHERE "sessions"."superseded_at_ms" is not null;--> statement-breakpoint
CREATE TABLE `shared_pasts` (
	`session_id` text NOT NULL,
	`holder_id` text NOT NULL,
	`seq_first` integer NOT NULL,
	`seq_last` integer NOT NULL,
	`log_position` integer NOT NULL,
	`checksum` integer NOT NULL,
	PRIMARY KEY(`session_id`, `seq_first`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`holder_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE restrict
);
--> statement-breakpoint
CREATE INDEX `shared_pasts_by_holder` ON `shared_pasts` (`holder_id`);--> statement-breakpoint
CREATE TABLE `store_settings` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL,
	`checksum` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `summaries` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`session_id` text NOT NULL,
	`level` text NOT NULL,
	`root_id` integer NOT NULL,
	`log_position` integer NOT NULL,
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
	`summarizer_id` text NOT NULL,
	`prompt_version` integer NOT NULL,
	`error` text,
	`attempts` integer NOT NULL,
	`created_at_ms` integer NOT NULL,
	`shown_from` integer,
	`shown_until` integer,
	`claimant` text,
	`claimed_until_ms` integer,
	`error_code` text,
	`next_try_at_ms` integer,
	`pauses` integer DEFAULT false NOT NULL,
	`stands_in` integer DEFAULT false NOT NULL,
	`input_tokens` integer,
	`output_tokens` integer,
	`cost_usd` real,
	`checksum` integer NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "summaries_done_has_text" CHECK(("summaries"."status" = 'done') = ("summaries"."text" is not null))
);
--> statement-breakpoint
CREATE INDEX `summaries_by_root` ON `summaries` (`root_id`,`log_position`);--> statement-breakpoint
CREATE INDEX `summaries_standing` ON `summaries` (`session_id`) WHERE "summaries"."status" = 'done' and "summaries"."shown_until" is null;--> statement-breakpoint
CREATE INDEX `summaries_by_session` ON `summaries` (`session_id`);--> statement-breakpoint
CREATE INDEX `summaries_overviews` ON `summaries` (`session_id`,`id`) WHERE "summaries"."level" = 'overview';--> statement-breakpoint
CREATE UNIQUE INDEX `summaries_claimed` ON `summaries` (`root_id`,`level`,`session_id`) WHERE "summaries"."status" = 'claimed';--> statement-breakpoint
CREATE INDEX `summaries_pausing` ON `summaries` (`summarizer_id`,`next_try_at_ms`) WHERE "summaries"."pauses" = 1;--> statement-breakpoint
CREATE TABLE `theme_checkpoints` (
	`id` integer PRIMARY KEY NOT NULL,
	`session_id` text NOT NULL,
	`log_position` integer NOT NULL,
	`graduated_seq` integer NOT NULL,
	`themes` text NOT NULL,
	`checksum` integer NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `theme_checkpoints_by_session` ON `theme_checkpoints` (`session_id`,`log_position`);--> statement-breakpoint
CREATE TABLE `themes` (
	`root_id` integer NOT NULL,
	`session_id` text NOT NULL,
	`message_count` integer NOT NULL,
	`token_count` integer NOT NULL,
	`centroid_sum` blob NOT NULL,
	`vector_count` integer NOT NULL,
	`seq_first` integer NOT NULL,
	`seq_last` integer NOT NULL,
	`log_position` integer NOT NULL,
	`cluster_count` integer NOT NULL,
	`checksum` integer NOT NULL,
	PRIMARY KEY(`root_id`, `session_id`),
	FOREIGN KEY (`root_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `themes_by_session` ON `themes` (`session_id`);--> statement-breakpoint
CREATE TABLE `tombstones` (
	`digest` blob PRIMARY KEY NOT NULL,
	`session_digest` blob NOT NULL,
	`opening_digest` blob,
	`message_id` integer,
	`forgotten_at_ms` integer NOT NULL,
	`checksum` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `tombstones_by_session` ON `tombstones` (`session_digest`);--> statement-breakpoint
CREATE INDEX `tombstones_by_opening` ON `tombstones` (`opening_digest`) WHERE "tombstones"."opening_digest" is not null;--> statement-breakpoint
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
	`checksum` integer NOT NULL,
	PRIMARY KEY(`id`, `undone_at`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `undone_unions_by_root` ON `undone_unions` (`root`,`id`);--> statement-breakpoint
CREATE INDEX `undone_unions_by_session` ON `undone_unions` (`session_id`,`undone_at`);--> statement-breakpoint
CREATE TABLE `unions` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`session_id` text NOT NULL,
	`generation` integer NOT NULL,
	`level` text NOT NULL,
	`kind` text NOT NULL,
	`node` integer NOT NULL,
	`root` integer NOT NULL,
	`score` real,
	`checksum` integer NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`generation`) REFERENCES `generations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "unions_kind_known" CHECK(("unions"."level" = 'cluster' and "unions"."kind" in ('start', 'join', 'settle')) or ("unions"."level" = 'theme' and "unions"."kind" = 'unite') or ("unions"."level" = 'subject' and "unions"."kind" in ('start', 'unite', 'dissolve')))
);
--> statement-breakpoint
CREATE INDEX `unions_by_session` ON `unions` (`session_id`,`id`);--> statement-breakpoint
CREATE INDEX `unions_by_root` ON `unions` (`root`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `unions_by_node` ON `unions` (`node`,`kind`,`generation`,`session_id`) WHERE "unions"."level" <> 'subject';--> statement-breakpoint
CREATE INDEX `unions_of_subjects` ON `unions` (`node`) WHERE "unions"."level" = 'subject';