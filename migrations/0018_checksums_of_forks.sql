-- What a fork shares and what a rewind has taken back get checksums, like other rows. An older version refuses the file after this one.
ALTER TABLE `shared_pasts` ADD `checksum` integer;--> statement-breakpoint
ALTER TABLE `undone_unions` ADD `checksum` integer;
