-- Which functions take the time, including everything they call? A function counts once for each sample, also if it is recursive.
WITH sums AS (
  SELECT event, stack_id, sum(samples) AS samples, sum(weight) AS weight FROM samples GROUP BY 1, 2),
called AS (
  SELECT DISTINCT stack_id, function, module, build_id, inlined FROM stack_frames)
SELECT event, function, module, build_id, inlined, sum(samples) AS samples, sum(weight) AS weight
FROM sums JOIN called USING (stack_id)
GROUP BY 1, 2, 3, 4, 5 ORDER BY weight DESC, samples DESC, function, module, build_id, inlined;
