-- The hottest function of each service, and its share.
WITH sums AS (
  SELECT coalesce(labels['service'], container, process, comm) AS service, event, function, module, sum(weight) AS weight
  FROM 'fleet/**/samples.parquet' GROUP BY ALL)
SELECT service, event, function, module, weight,
  round(100.0 * weight / nullif(sum(weight) OVER (PARTITION BY service, event), 0), 2) AS percent
FROM sums
QUALIFY row_number() OVER (PARTITION BY service, event ORDER BY weight DESC, function, module) = 1
ORDER BY weight DESC, service, event;
