-- Who calls memcpy? The caller of the outermost function with such a name.
WITH sums AS (
  SELECT event, stack_id, sum(samples) AS samples, sum(weight) AS weight FROM samples GROUP BY 1, 2),
calls AS (
  SELECT stack_id, function, caller, row_number() OVER (PARTITION BY stack_id ORDER BY position) AS place
  FROM stack_frames WHERE instr(function, 'memcpy') > 0)
SELECT event, function AS callee, coalesce(caller, '[root]') AS caller, sum(samples) AS samples, sum(weight) AS weight
FROM sums JOIN calls USING (stack_id) WHERE place = 1
GROUP BY 1, 2, 3 ORDER BY weight DESC, samples DESC, callee, caller;
