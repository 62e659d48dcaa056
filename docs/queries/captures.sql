-- What do the tables not know? Incomplete traces, lost samples and problems of each capture.
SELECT path, host, samples, exported, round(100.0 * whole / nullif(unwound, 0), 2) AS percent_whole,
  is_complete, is_truncated, losses, problems
FROM captures
ORDER BY percent_whole, path;
