-- Which threads ended the waits, and in which function?
SELECT s.comm, w.comm AS waker, w.function AS woken_in, sum(s.samples) AS samples, sum(s.weight) AS weight
FROM 'fleet/**/samples.parquet' s JOIN 'fleet/**/samples.parquet' w
  ON w.file_id = s.file_id AND w.sample = s.waker_sample
GROUP BY ALL ORDER BY weight DESC, comm, waker, woken_in;
