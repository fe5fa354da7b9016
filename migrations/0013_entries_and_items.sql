-- What programs keep beside messages: entries in order with them, and items by namespace and key. An older version refuses the
-- file after this one.
CREATE TABLE `entries` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`session_id` text NOT NULL,
	`before_seq` integer NOT NULL,
	`external_id` text,
	`created_at_ms` integer NOT NULL,
	`encoding` text NOT NULL,
	`value` blob NOT NULL,
	`checksum` integer,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `entries_by_session` ON `entries` (`session_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `entries_by_external_id` ON `entries` (`session_id`,`external_id`) WHERE "entries"."external_id" is not null;--> statement-breakpoint
CREATE TABLE `items` (
	`id` integer PRIMARY KEY NOT NULL,
	`namespace` text NOT NULL,
	`key` text NOT NULL,
	`session_id` text,
	`created_at_ms` integer NOT NULL,
	`updated_at_ms` integer NOT NULL,
	`encoding` text NOT NULL,
	`value` blob NOT NULL,
	`checksum` integer,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `items_by_key` ON `items` (`namespace`,`key`);--> statement-breakpoint
CREATE INDEX `items_by_session` ON `items` (`session_id`) WHERE "items"."session_id" is not null;
