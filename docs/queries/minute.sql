-- What changed on Monday at 03:17 (UTC)? Functions (with all they call), programs, and, where the event is off-cpu, waits, whose share of
-- that minute differs from the other minutes of the hour and of the same hour a day before. Percent, with 95 % intervals.
WITH digits AS (
  SELECT 0 AS digit UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6
  UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9),
numbers AS MATERIALIZED (
  SELECT a.digit * 100 + b.digit * 10 + c.digit AS number FROM digits AS a CROSS JOIN digits AS b CROSS JOIN digits AS c),
minutes AS MATERIALIZED (
  SELECT CASE WHEN minute = '2026-11-30 03:17' THEN 1 ELSE 0 END AS is_asked, minute, event, stack_id,
    coalesce(process, comm) AS program, sum(samples) AS samples, sum(weight) AS weight
  FROM samples WHERE hour IN ('2026-11-30 03:00', '2026-11-29 03:00') GROUP BY 1, 2, 3, 4, 5),
wholes AS MATERIALIZED (
  SELECT is_asked, minute, event, sum(samples) AS n, nullif(sum(weight), 0) AS whole FROM minutes GROUP BY 1, 2, 3),
called AS (
  SELECT DISTINCT stack_id, function, coalesce(module, '') AS module FROM stack_frames),
costs AS MATERIALIZED (
  SELECT kind, name, module, event, minute, sum(samples) AS samples, sum(weight) AS weight
  FROM (
    SELECT 'function' AS kind, function AS name, module, event, minute, samples, weight FROM minutes JOIN called USING (stack_id)
    UNION ALL
    SELECT 'program', program, '', event, minute, samples, weight FROM minutes) AS kinds
  GROUP BY 1, 2, 3, 4, 5),
items AS (
  SELECT kind, name, module, event FROM costs GROUP BY 1, 2, 3, 4 HAVING sum(samples) >= 20),
shares AS (
  SELECT kind, name, module, event, is_asked, n, whole, coalesce(weight, 0) AS weight, coalesce(1.0 * weight / whole, 0) AS share
  FROM items JOIN wholes USING (event) LEFT JOIN costs USING (kind, name, module, event, minute)),
usual AS (
  SELECT kind, name, module, event, count(*) AS minutes, sum(shares.n) AS n, 1.0 * sum(weight) / sum(whole) AS share,
    sum(shares.share * shares.share) - 2.0 * sum(shares.share) * sum(weight) / sum(whole)
      + count(*) * pow(1.0 * sum(weight) / sum(whole), 2) AS squares
  FROM shares WHERE is_asked = 0 GROUP BY 1, 2, 3, 4 HAVING count(*) > 1),
-- A minute varies as other minutes do, but at least as much as samples drawn by chance, and by a sample.
changes AS MATERIALIZED (
  SELECT kind, name, module, event, usual.share AS usual, asked.share AS share, asked.share - usual.share AS change, minutes - 1.0 AS freedom,
    sqrt(pow(1.0 / asked.n, 2) + CASE WHEN squares / (minutes - 1) * (1 + 1.0 / minutes) > usual.share * (1 - usual.share) * (1.0 / asked.n + 1.0 / usual.n)
      THEN squares / (minutes - 1) * (1 + 1.0 / minutes) ELSE usual.share * (1 - usual.share) * (1.0 / asked.n + 1.0 / usual.n) END) AS error
  FROM usual JOIN shares AS asked USING (kind, name, module, event) WHERE is_asked = 1),
-- Student's distribution: an integral in y = ln(x / (1 - x)) of the beta distribution, by exponents (Takahasi and Mori 1974).
steps AS (
  SELECT 0.03 * number - 3 AS s FROM numbers WHERE number < 284),
nodes AS MATERIALIZED (
  SELECT sign * exp(s - exp(-s)) AS y, exp(s - exp(-s)) * (1 + exp(-s)) AS part
  FROM steps CROSS JOIN (SELECT -1 AS sign UNION ALL SELECT 1) AS signs),
chances AS (
  SELECT kind, name, module, event, usual, share, change, error, freedom,
    sum(CASE WHEN y < 0 THEN density ELSE 0 END) / sum(density) AS probability
  FROM (
    SELECT *, part * exp(-freedom / 2 * ln((1 + square / freedom * exp(-y)) * freedom / (freedom + 1))
      - 0.5 * ln((1 + freedom / square * exp(y)) / (freedom + 1))) AS density
    FROM (SELECT *, pow(change / error, 2) + 1e-30 AS square FROM changes) AS changes CROSS JOIN nodes) AS densities
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9),
ranks AS (
  SELECT *, row_number() OVER (ORDER BY probability) AS place, count(*) OVER () AS n,
    -- Student's limit (Abramowitz and Stegun, 26.7.5).
    error * CASE freedom WHEN 1 THEN 12.7062 WHEN 2 THEN 4.3027 ELSE 1.959964 + 2.372272 / freedom + 2.822502 / pow(freedom, 2)
      + 2.555853 / pow(freedom, 3) + 1.589536 / pow(freedom, 4) END AS wide
  FROM chances)
SELECT event, kind, name, module, round(100 * usual, 3) AS usual, round(100 * share, 3) AS share, round(100 * change, 3) AS change,
  round(100 * (ranks.change - wide), 3) AS low, round(100 * (ranks.change + wide), 3) AS high, round(probability, 6) AS probability,
  -- Of the significant changes, 5 % may be chance (Benjamini and Hochberg 1995).
  place <= coalesce((SELECT max(place) FROM ranks WHERE probability <= 0.05 * place / n), 0) AS is_sure
FROM ranks ORDER BY is_sure DESC, change DESC, event, kind, name, module;
