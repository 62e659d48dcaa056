-- The hottest function of each service, and its share.
WITH sums AS (
  SELECT coalesce(service, container, process, comm) AS service, event, function, module, sum(weight) AS weight
  FROM samples GROUP BY 1, 2, 3, 4),
ranks AS (
  SELECT *, round(100.0 * weight / nullif(sum(weight) OVER (PARTITION BY service, event), 0), 2) AS percent,
    row_number() OVER (PARTITION BY service, event ORDER BY weight DESC, function, module) AS place
  FROM sums)
SELECT service, event, function, module, weight, percent
FROM ranks WHERE place = 1 ORDER BY weight DESC, service, event;
