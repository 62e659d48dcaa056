-- Stacks for a flame graph of any WHERE, as `stackreel folded' prints them.
WITH sums AS (
  SELECT stack_id, is_whole, stop, sum(samples) AS samples
  FROM samples WHERE event = 'cpu-clock' GROUP BY 1, 2, 3),
lines AS (
  SELECT CASE WHEN is_whole THEN coalesce(folded, '[no frames]')
    ELSE '[incomplete: ' || stop || ']' || coalesce(';' || folded, '') END AS line, samples
  FROM sums JOIN stacks USING (stack_id))
SELECT line || ' ' || sum(samples) AS line FROM lines
GROUP BY lines.line ORDER BY 1;
