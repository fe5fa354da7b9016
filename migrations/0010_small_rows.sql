-- `text` becomes a column that SQLite computes. In old rows, `stored_text` is all of it.
ALTER TABLE `messages` RENAME COLUMN `text` TO `stored_text`;--> statement-breakpoint
ALTER TABLE `messages` ADD `text` text GENERATED ALWAYS AS (CASE
  WHEN typeof(stored_text) <> 'blob' THEN stored_text
  WHEN json_valid(parts) THEN
    substr(
      coalesce(CASE parts ->> '$[0].type' WHEN 'text' THEN parts ->> '$[0].text' ELSE parts ->> '$[0].content' END, ''),
      1, CAST(CAST(stored_text AS TEXT) AS INTEGER))
    || substr(CAST(stored_text AS TEXT), instr(CAST(stored_text AS TEXT), ' ') + 1)
  ELSE CAST(stored_text AS TEXT)
END) VIRTUAL;
