-- Where do traces end too early, and why? Files and debug symbols of these modules would complete them.
WITH sums AS (
  SELECT stop, stack_id, sum(samples) AS samples FROM samples WHERE NOT is_whole GROUP BY 1, 2),
outermost AS (
  SELECT stack_id, module, build_id FROM stack_frames WHERE position = 1)
SELECT stop, module, build_id, sum(sums.samples) AS samples,
  round(100.0 * sum(sums.samples) / (SELECT sum(samples) FROM samples), 2) AS percent
FROM sums LEFT JOIN outermost USING (stack_id)
GROUP BY 1, 2, 3 ORDER BY samples DESC, stop, module, build_id;
