-- What does one library cost, with everything it calls, for each service?
WITH users AS (
  SELECT DISTINCT stack_id, 1 AS is_user FROM stack_frames WHERE instr(module, '/libc') > 0),
sums AS (
  SELECT coalesce(service, container, process, comm) AS service, event, sum(is_user * samples.samples) AS samples,
    sum(is_user * samples.weight) AS weight, sum(samples.weight) AS whole
  FROM samples LEFT JOIN users USING (stack_id) GROUP BY 1, 2)
SELECT service, event, samples, weight, round(100.0 * weight / nullif(whole, 0), 2) AS percent
FROM sums WHERE samples > 0 ORDER BY weight DESC, service, event;
