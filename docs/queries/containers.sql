-- Which containers, pods and units take the time?
SELECT host, pod, container, systemd_unit, event, sum(samples) AS samples, sum(weight) AS weight
FROM 'fleet/**/samples.parquet'
GROUP BY ALL ORDER BY weight DESC, host, pod, container, systemd_unit, event;
