-- What models were paid for, as far as transcripts tell. An older version refuses the file after this one.
--
-- Programs name the counts differently. Some repeat those of a reply on each of its messages, or smaller ones while it was written,
-- and copies of a session have the replies of the original: each reply counts once, with its largest counts. `input_tokens` does
-- not include what came from a cache.
CREATE VIEW usage AS
WITH told AS (
  SELECT m.id, m.session_id, m.metadata,
    coalesce(json_extract(m.metadata, '$.message.usage'), json_extract(m.metadata, '$.usage'),
      json_extract(m.metadata, '$.tokens'), json_extract(m.metadata, '$.anthropic.coppice.reply.usage')) AS counts,
    coalesce(
      json_extract(m.metadata, '$.message.id') || ' ' || json_extract(m.metadata, '$.requestId'),
      CASE WHEN s.source IN ('ai-sdk', 'gemini-cli', 'opencode') THEN
        m.session_id || ' ' || substr(m.external_id, 1, instr(m.external_id || '/', '/') - 1) END,
      m.id) AS reply
  FROM messages m
  JOIN sessions s ON s.id = m.session_id
  WHERE m.role = 'assistant' AND m.metadata IS NOT NULL
),
counted AS (
  SELECT id, session_id, reply,
    coalesce(json_extract(metadata, '$.message.model'), json_extract(metadata, '$.model'),
      json_extract(metadata, '$.modelID'), json_extract(metadata, '$.anthropic.coppice.reply.model')) AS model,
    coalesce(json_extract(counts, '$.input_tokens'), json_extract(counts, '$.inputTokens'), json_extract(counts, '$.input'), 0)
      - coalesce(json_extract(counts, '$.cached_input_tokens'), json_extract(counts, '$.cached'), 0) AS input_tokens,
    coalesce(json_extract(counts, '$.cache_read_input_tokens'), json_extract(counts, '$.cached_input_tokens'),
      json_extract(counts, '$.cached'), json_extract(counts, '$.cacheRead'), json_extract(counts, '$.cache.read'), 0)
      AS cache_read_tokens,
    coalesce(json_extract(counts, '$.cache_creation_input_tokens'), json_extract(counts, '$.cacheWrite'),
      json_extract(counts, '$.cache.write'), 0) AS cache_write_tokens,
    coalesce(json_extract(counts, '$.output_tokens'), json_extract(counts, '$.outputTokens'), json_extract(counts, '$.output'), 0)
      + coalesce(json_extract(counts, '$.thoughts'), json_extract(counts, '$.reasoning'), 0) AS output_tokens,
    coalesce(json_extract(metadata, '$.cost'), json_extract(counts, '$.cost.total')) AS cost_usd
  FROM told
  WHERE json_type(counts) = 'object'
),
replies AS (
  SELECT min(id) AS id, max(model) AS model, max(input_tokens) AS input_tokens, max(cache_read_tokens) AS cache_read_tokens,
    max(cache_write_tokens) AS cache_write_tokens, max(output_tokens) AS output_tokens, max(cost_usd) AS cost_usd
  FROM counted GROUP BY reply
)
SELECT
  CASE WHEN s.superseded_at_ms IS NULL THEN s.id ELSE s.parent_session_id END AS session_id,
  s.project,
  date(m.created_at_ms / 1000, 'unixepoch') AS day,
  r.model,
  count(*) AS reply_count,
  sum(r.input_tokens) AS input_tokens,
  sum(r.cache_read_tokens) AS cache_read_tokens,
  sum(r.cache_write_tokens) AS cache_write_tokens,
  sum(r.output_tokens) AS output_tokens,
  sum(r.cost_usd) AS cost_usd
FROM replies r
JOIN messages m ON m.id = r.id
JOIN sessions s ON s.id = m.session_id
GROUP BY 1, s.project, day, r.model;
