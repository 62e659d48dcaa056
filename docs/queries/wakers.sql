-- Which threads ended the waits, and in which function?
SELECT s.comm, w.comm AS waker, w.function AS woken_in, sum(s.samples) AS samples, sum(s.weight) AS weight
FROM samples s JOIN samples w ON w.file_id = s.file_id AND w.sample = s.waker_sample
GROUP BY 1, 2, 3 ORDER BY weight DESC, 1, 2, 3;
