-- Who calls memcpy? The caller of the outermost function with such a name.
WITH sums AS (
  SELECT event, stack_id, sum(samples) AS samples, sum(weight) AS weight
  FROM 'fleet/**/samples.parquet' GROUP BY ALL),
stacks AS (
  SELECT stack_id, any_value(functions) AS functions,
    list_position([f LIKE '%memcpy%' FOR f IN any_value(functions)], true) AS place
  FROM 'fleet/**/stacks.parquet' GROUP BY stack_id)
SELECT event, functions[place] AS callee, coalesce(functions[place - 1], '[root]') AS caller,
  sum(samples) AS samples, sum(weight) AS weight
FROM sums JOIN stacks USING (stack_id) WHERE place > 0
GROUP BY ALL ORDER BY weight DESC, samples DESC, callee, caller;
