-- The messages of each session, those that a fork shares included. `holder_id` is the session in which a message was written. An older
-- version refuses the file after this one, because it expects rows of open clusters in every fork.
CREATE VIEW session_messages AS
SELECT m.session_id, m.seq, m.id AS message_id, m.session_id AS holder_id, m.role, m.text
FROM messages m
JOIN sessions s ON s.id = m.session_id
WHERE s.superseded_at_ms IS NULL
UNION ALL
SELECT p.session_id, m.seq, m.id, m.session_id, m.role, m.text
FROM shared_pasts p
JOIN messages m ON m.session_id = p.holder_id AND m.seq BETWEEN p.seq_first AND p.seq_last;
