-- Upkeep reads only the sessions that it may have work for, however many others there are. A message, or a change of the frontier,
-- wakes a session. Upkeep lets it sleep when no step can graduate and no cluster can settle. A fork wakes with its first message.
CREATE TABLE `awake_sessions` (
	`session_id` text PRIMARY KEY NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
INSERT INTO `awake_sessions` SELECT `id` FROM `sessions` WHERE `superseded_at_ms` IS NULL;--> statement-breakpoint
CREATE TRIGGER `messages_wake` AFTER INSERT ON `messages`
WHEN NOT EXISTS (SELECT 1 FROM `awake_sessions` WHERE `session_id` = new.`session_id`)
BEGIN
  INSERT INTO `awake_sessions` VALUES (new.`session_id`);
END;--> statement-breakpoint
CREATE TRIGGER `sessions_wake` AFTER UPDATE OF `frontier_version` ON `sessions`
WHEN new.`superseded_at_ms` IS NULL AND NOT EXISTS (SELECT 1 FROM `awake_sessions` WHERE `session_id` = new.`id`)
BEGIN
  INSERT INTO `awake_sessions` VALUES (new.`id`);
END;--> statement-breakpoint
CREATE INDEX `clusters_unassigned` ON `clusters` (`session_id`) WHERE `settled_at` is not null and `subject_parent_id` is null;
