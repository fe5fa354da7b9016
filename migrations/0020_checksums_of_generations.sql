-- Generations get checksums, and those of summaries cover where contexts show them. An older version refuses the file after this one.
ALTER TABLE `generations` ADD `checksum` integer;
