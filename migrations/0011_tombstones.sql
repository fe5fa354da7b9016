-- What was forgotten stays forgotten: an import leaves out what these digests recognize. Settings of the whole store, such as
-- the key of the digests. An older version refuses the file after this one.
CREATE TABLE `tombstones` (
	`digest` blob PRIMARY KEY NOT NULL,
	`session_digest` blob NOT NULL,
	`opening_digest` blob,
	`message_id` integer,
	`forgotten_at_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `tombstones_by_session` ON `tombstones` (`session_digest`);--> statement-breakpoint
CREATE INDEX `tombstones_by_opening` ON `tombstones` (`opening_digest`) WHERE "tombstones"."opening_digest" is not null;--> statement-breakpoint
CREATE TABLE `store_settings` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
