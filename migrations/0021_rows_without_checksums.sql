-- Rows that were written without a checksum have -1. So NULL is damage: a flipped bit in the header of a row takes its last values away. An older version refuses the file after this one.
UPDATE `generations` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `sessions` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `messages` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `forgotten_messages` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `message_artifacts` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `unions` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `undone_unions` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `frontier_moves` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `shared_pasts` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `clusters` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `themes` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `summaries` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `discarded_costs` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `tombstones` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `store_settings` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `theme_checkpoints` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `entries` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
UPDATE `items` SET `checksum` = -1 WHERE `checksum` IS NULL;--> statement-breakpoint
-- A process of an older version may have the file open, and write rows without a checksum.
CREATE TRIGGER `generations_without_checksum` AFTER INSERT ON `generations` WHEN new.checksum IS NULL
BEGIN
  UPDATE `generations` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `sessions_without_checksum` AFTER INSERT ON `sessions` WHEN new.checksum IS NULL
BEGIN
  UPDATE `sessions` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `messages_without_checksum` AFTER INSERT ON `messages` WHEN new.checksum IS NULL
BEGIN
  UPDATE `messages` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `forgotten_messages_without_checksum` AFTER INSERT ON `forgotten_messages` WHEN new.checksum IS NULL
BEGIN
  UPDATE `forgotten_messages` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `message_artifacts_without_checksum` AFTER INSERT ON `message_artifacts` WHEN new.checksum IS NULL
BEGIN
  UPDATE `message_artifacts` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `unions_without_checksum` AFTER INSERT ON `unions` WHEN new.checksum IS NULL
BEGIN
  UPDATE `unions` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `undone_unions_without_checksum` AFTER INSERT ON `undone_unions` WHEN new.checksum IS NULL
BEGIN
  UPDATE `undone_unions` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `frontier_moves_without_checksum` AFTER INSERT ON `frontier_moves` WHEN new.checksum IS NULL
BEGIN
  UPDATE `frontier_moves` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `shared_pasts_without_checksum` AFTER INSERT ON `shared_pasts` WHEN new.checksum IS NULL
BEGIN
  UPDATE `shared_pasts` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `clusters_without_checksum` AFTER INSERT ON `clusters` WHEN new.checksum IS NULL
BEGIN
  UPDATE `clusters` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `themes_without_checksum` AFTER INSERT ON `themes` WHEN new.checksum IS NULL
BEGIN
  UPDATE `themes` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `summaries_without_checksum` AFTER INSERT ON `summaries` WHEN new.checksum IS NULL
BEGIN
  UPDATE `summaries` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `discarded_costs_without_checksum` AFTER INSERT ON `discarded_costs` WHEN new.checksum IS NULL
BEGIN
  UPDATE `discarded_costs` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `tombstones_without_checksum` AFTER INSERT ON `tombstones` WHEN new.checksum IS NULL
BEGIN
  UPDATE `tombstones` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
CREATE TRIGGER `store_settings_without_checksum` AFTER INSERT ON `store_settings` WHEN new.checksum IS NULL
BEGIN
  UPDATE `store_settings` SET `checksum` = -1 WHERE rowid = new.rowid;
END;--> statement-breakpoint
-- The same process would change these columns, and not the checksum.
DROP TRIGGER IF EXISTS `summaries_sealed`;--> statement-breakpoint
CREATE TRIGGER `summaries_sealed` BEFORE UPDATE OF `root_id`, `log_position`, `shown_from`, `shown_until` ON `summaries`
WHEN old.checksum >= 0 AND new.checksum IS old.checksum
  AND (new.root_id, new.log_position, new.shown_from, new.shown_until) IS NOT (old.root_id, old.log_position, old.shown_from, old.shown_until)
BEGIN
  SELECT RAISE(ABORT, 'a newer version of Coppice has opened this store: start this program again with the newer version');
END;
