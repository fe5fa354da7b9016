ALTER TABLE `clusters` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `messages` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `sessions` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `span_summaries` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `summaries` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `themes` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `unions` ADD `checksum` integer;