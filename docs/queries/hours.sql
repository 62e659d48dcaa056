-- How much was used in each hour, on each host?
SELECT time_bucket(INTERVAL 1 HOUR, wall_time) AS hour, host, event, sum(samples) AS samples, sum(weight) AS weight
FROM 'fleet/**/samples.parquet'
GROUP BY ALL ORDER BY ALL;
