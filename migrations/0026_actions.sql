-- What tool calls did, so that files, commands and errors are found by name. Upkeep fills the table. An older version refuses the file
-- after this one.
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
	`checksum` integer,
	PRIMARY KEY(`message_id`, `ordinal`),
	FOREIGN KEY (`message_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `actions_by_name` ON `actions` (`name`,`message_id`);--> statement-breakpoint
CREATE INDEX `actions_by_error` ON `actions` (`error`,`message_id`) WHERE "actions"."error" is not null;--> statement-breakpoint
CREATE VIEW work AS
SELECT
  m.session_id, s.project, m.seq, m.created_at_ms, a.kind,
  CASE WHEN substr(a.target, 1, length(s.project) + 1) = s.project || '/'
    THEN substr(a.target, length(s.project) + 2) ELSE a.target END AS target,
  a.outcome, a.error, a.message_id, a.result_id
FROM actions a
JOIN messages m ON m.id = a.message_id
JOIN sessions s ON s.id = m.session_id
WHERE s.superseded_at_ms IS NULL;
