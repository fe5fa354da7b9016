-- Projects of folders are full paths from here on, not the folders' names. SQLite cannot follow links, so the next writer of the store gives them: see store/projects.ts. An older version refuses the file after this one.
INSERT INTO `store_settings` (`name`, `value`, `checksum`) SELECT 'projectsDue', 'true', -1 WHERE EXISTS (SELECT 1 FROM `sessions` WHERE `project` IS NOT NULL);
