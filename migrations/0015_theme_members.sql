-- Which message is in which theme. A root is absorbed at a later log position than the roots it has absorbed, so that a damaged
-- log cannot lead in a circle.
CREATE VIEW theme_members AS
SELECT t.root_id AS theme_id, c.root_id AS cluster_id, cm.message_id, c.session_id, cm.seq, cm.log_position
FROM clusters c
JOIN themes t ON t.session_id = c.session_id AND t.root_id = (
  WITH RECURSIVE up(root_id, log_position) AS (
    SELECT c.root_id, 0
    UNION ALL
    SELECT u.root, u.id
    FROM up
    JOIN unions u ON u.node = up.root_id AND u.kind = 'unite' AND u.level <> 'subject'
      AND u.generation = (SELECT max(id) FROM generations) AND u.id > up.log_position
  )
  SELECT root_id FROM up ORDER BY log_position DESC LIMIT 1
)
JOIN cluster_members cm ON cm.cluster_id = c.root_id;
