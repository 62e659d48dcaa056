-- Which functions take the time?
SELECT event, function, module, sum(samples) AS samples, sum(weight) AS weight
FROM samples
GROUP BY 1, 2, 3 ORDER BY weight DESC, samples DESC, function;
