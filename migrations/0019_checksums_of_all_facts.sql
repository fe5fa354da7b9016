-- The other tables of facts get checksums, and those of sessions cover every value that is shown. An older version refuses the file after this one.
ALTER TABLE `forgotten_messages` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `message_artifacts` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `frontier_moves` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `discarded_costs` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `tombstones` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `store_settings` ADD `checksum` integer;
