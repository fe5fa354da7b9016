-- Summaries of the level `overview`, which older versions would take for summaries of clusters. An older version refuses the file after this one.
CREATE INDEX IF NOT EXISTS `summaries_overviews` ON `summaries` (`session_id`,`id`) WHERE "summaries"."level" = 'overview';
