-- What does one library cost, with everything it calls, for each service?
WITH users AS (
  SELECT DISTINCT stack_id FROM 'fleet/**/stacks.parquet'
  WHERE list_contains([f.module LIKE '%/libc%' FOR f IN frames], true))
SELECT coalesce(s.labels['service'], s.container, s.process, s.comm) AS service, event,
  sum(samples) FILTER (u.stack_id IS NOT NULL) AS samples,
  sum(weight) FILTER (u.stack_id IS NOT NULL) AS weight,
  round(100.0 * sum(weight) FILTER (u.stack_id IS NOT NULL) / nullif(sum(weight), 0), 2) AS percent
FROM 'fleet/**/samples.parquet' s LEFT JOIN users u USING (stack_id)
GROUP BY ALL HAVING samples > 0 ORDER BY weight DESC, service, event;
