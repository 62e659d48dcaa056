-- Which requests (trace ids) took the longest, on a CPU and waiting?
SELECT trace, event, count(DISTINCT host) AS hosts, sum(samples) AS samples, sum(weight) AS weight
FROM samples
WHERE trace IS NOT NULL AND unit = 'ns'
GROUP BY 1, 2 ORDER BY weight DESC, trace, event;
