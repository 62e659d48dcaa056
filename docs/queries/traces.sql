-- Which requests (trace ids) took the longest, on a CPU and waiting?
SELECT trace, event, count(DISTINCT host) AS hosts, sum(samples) AS samples, sum(weight) AS weight
FROM 'fleet/**/samples.parquet'
WHERE trace IS NOT NULL AND unit = 'ns'
GROUP BY ALL ORDER BY weight DESC, trace, event;
