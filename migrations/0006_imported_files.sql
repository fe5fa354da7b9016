-- Which files of other programs a watch has brought in whole, so that it need not read them again when it starts. An older
-- version refuses the file after this one.
CREATE TABLE `imported_files` (
	`path_digest` text PRIMARY KEY NOT NULL,
	`state_digest` text NOT NULL
);
