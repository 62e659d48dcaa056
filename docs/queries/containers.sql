-- Which containers, pods and units take the time?
SELECT host, pod, container, systemd_unit, event, sum(samples) AS samples, sum(weight) AS weight
FROM samples
GROUP BY 1, 2, 3, 4, 5 ORDER BY weight DESC, host, pod, container, systemd_unit, event;
