PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_unions` (
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
	CONSTRAINT "unions_kind_known" CHECK(("__new_unions"."level" = 'cluster' and "__new_unions"."kind" in ('start', 'join', 'settle')) or ("__new_unions"."level" = 'theme' and "__new_unions"."kind" = 'unite') or ("__new_unions"."level" = 'subject' and "__new_unions"."kind" in ('start', 'unite', 'dissolve')))
);
--> statement-breakpoint
INSERT INTO `__new_unions`("id", "session_id", "generation", "level", "kind", "node", "root", "score") SELECT "id", "session_id", "generation", "level", "kind", "node", "root", "score" FROM `unions`;--> statement-breakpoint
DROP TABLE `unions`;--> statement-breakpoint
ALTER TABLE `__new_unions` RENAME TO `unions`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE INDEX `unions_by_session` ON `unions` (`session_id`,`id`);--> statement-breakpoint
CREATE INDEX `unions_by_root` ON `unions` (`root`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `unions_by_node` ON `unions` (`node`,`kind`) WHERE "unions"."level" <> 'subject';--> statement-breakpoint
CREATE INDEX `unions_of_subjects` ON `unions` (`node`) WHERE "unions"."level" = 'subject';--> statement-breakpoint
ALTER TABLE `clusters` ADD `subject_parent_id` integer;--> statement-breakpoint
CREATE INDEX `clusters_settled` ON `clusters` (`settled_at`) WHERE "clusters"."settled_at" is not null;--> statement-breakpoint
CREATE INDEX `clusters_by_subject` ON `clusters` (`subject_parent_id`) WHERE "clusters"."subject_parent_id" is not null;--> statement-breakpoint
ALTER TABLE `generations` ADD `rewrite_count` integer DEFAULT 0 NOT NULL;