-- Rows that were written without a checksum have -1. So NULL is damage: the usual way for a flipped bit to take a checksum away. An older version refuses the file after this one.
UPDATE `generations` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `sessions` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `messages` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `forgotten_messages` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `message_artifacts` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `unions` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `undone_unions` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `frontier_moves` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `theme_checkpoints` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `shared_pasts` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `clusters` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `themes` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `summaries` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `discarded_costs` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `entries` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `items` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `tombstones` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `store_settings` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
DROP TRIGGER IF EXISTS `summaries_sealed`;--> statement-breakpoint
-- A process of an older version may have the file open. It would change these columns, and not the checksum.
CREATE TRIGGER `summaries_sealed` BEFORE UPDATE OF `root_id`, `log_position`, `shown_from`, `shown_until` ON `summaries`
WHEN old.checksum >= 0 AND new.checksum IS old.checksum
  AND (new.root_id, new.log_position, new.shown_from, new.shown_until) IS NOT (old.root_id, old.log_position, old.shown_from, old.shown_until)
BEGIN
  SELECT RAISE(ABORT, 'a newer version of Coppice has opened this store: start this program again with the newer version');
END;
