-- Which functions take the time?
SELECT event, function, module, sum(samples) AS samples, sum(weight) AS weight
FROM 'fleet/**/samples.parquet'
GROUP BY ALL ORDER BY weight DESC, samples DESC, function;
