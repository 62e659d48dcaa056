-- How much was used in each hour (UTC), on each host?
SELECT hour, host, event, sum(samples) AS samples, sum(weight) AS weight
FROM samples
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
