-- Generations get checksums, and those of summaries cover where contexts show them. An older version refuses the file after this one.
ALTER TABLE `generations` ADD `checksum` integer;--> statement-breakpoint
-- A process of an older version may have the file open. It would change these columns, and not the checksum.
CREATE TRIGGER `summaries_sealed` BEFORE UPDATE OF `root_id`, `log_position`, `shown_from`, `shown_until` ON `summaries`
WHEN old.checksum IS NOT NULL AND new.checksum IS old.checksum
  AND (new.root_id, new.log_position, new.shown_from, new.shown_until) IS NOT (old.root_id, old.log_position, old.shown_from, old.shown_until)
BEGIN
  SELECT RAISE(ABORT, 'a newer version of Coppice has opened this store: start this program again with the newer version');
END;
