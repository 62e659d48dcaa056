-- Which functions take more or less in a new version than in the old one, and how certain is it? Shares in percent, their change, and its
-- 95 % interval. It computes what `stackreel diff OLD... --new NEW...' does (cli/diff/variances.h), and needs two captures of each version.
WITH digits AS (
  SELECT 0 AS digit UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6
  UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9),
numbers AS MATERIALIZED (
  SELECT a.digit * 100 + b.digit * 10 + c.digit AS number FROM digits AS a CROSS JOIN digits AS b CROSS JOIN digits AS c),
versions AS (
  SELECT file_id, CASE WHEN instr('/' || path, '/new/') > 0 THEN 1 ELSE 0 END AS version
  FROM captures WHERE instr('/' || path, '/old/') > 0 OR instr('/' || path, '/new/') > 0),
sums AS MATERIALIZED (
  SELECT version, file_id, stack_id, function, module, sum(samples.samples) AS samples,
    sum(CASE WHEN samples.weight = 0 THEN samples.samples ELSE samples.weight END) AS weight
  FROM samples JOIN versions USING (file_id) WHERE event = 'cpu-clock' GROUP BY 1, 2, 3, 4, 5),
runs AS MATERIALIZED (
  SELECT version, file_id, sum(weight) AS base, sum(samples) AS samples FROM sums GROUP BY 1, 2),
sides AS MATERIALIZED (
  SELECT version, count(*) AS n, sum(runs.base) AS base, 1.0 / sum(samples) AS step,
    sum(pow(runs.base, 2)) / pow(sum(runs.base), 2) AS spread
  FROM runs GROUP BY 1),
-- Builds differ in clones and parts of functions.
names AS MATERIALIZED (
  SELECT function, substr(function, 1, min(instr(function || suffix, suffix)) - 1) AS name
  FROM (SELECT DISTINCT function FROM stack_frames) AS functions CROSS JOIN (
    SELECT '.constprop.' AS suffix UNION ALL SELECT '.isra.' UNION ALL SELECT '.part.' UNION ALL SELECT '.cold' UNION ALL SELECT '.llvm.'
    UNION ALL SELECT ' [clone .') AS suffixes
  GROUP BY 1),
called AS (
  SELECT DISTINCT stack_id, name, module FROM stack_frames JOIN names USING (function)),
costs AS MATERIALIZED (
  SELECT part, name AS function, coalesce(replace(module, rtrim(module, replace(module, '/', '')), ''), '') AS module, file_id,
    sum(samples) AS samples, sum(weight) AS weight
  FROM (
    SELECT 'self' AS part, name, module, file_id, samples, weight FROM sums JOIN names USING (function)
    UNION ALL
    SELECT 'total', name, called.module, file_id, samples, weight FROM sums JOIN called USING (stack_id)) AS parts
  GROUP BY 1, 2, 3, 4),
items AS MATERIALIZED (
  SELECT row_number() OVER (ORDER BY part, function, module) AS item, part, function, module
  FROM costs GROUP BY 2, 3, 4 HAVING sum(samples) >= 20),
-- Each capture's difference from its version's share, and what its variance consists of.
deltas AS MATERIALIZED (
  SELECT item, version, spread, step, share, fraction, coalesce(1.0 * weight / runs.base, 0) - share AS delta,
    CASE WHEN share < step THEN step WHEN share > 1 - step THEN 1 - step ELSE share END
      * (1 - CASE WHEN share < step THEN step WHEN share > 1 - step THEN 1 - step ELSE share END) AS binomial
  FROM (
    SELECT item, part, function, module, version, file_id, spread, step, runs.base, 1.0 * runs.base / sides.base AS fraction,
      weight, sum(coalesce(weight, 0)) OVER (PARTITION BY item, version) / (1.0 * sides.base) AS share
    FROM items CROSS JOIN runs JOIN sides USING (version) LEFT JOIN costs USING (part, function, module, file_id)) AS runs),
known AS (
  SELECT sum(n) - 2e0 AS freedom, (SELECT count(*) FROM items WHERE part = 'self') AS n FROM sides HAVING min(n) > 1 AND count(*) = 2),
noises AS (
  SELECT number, CASE WHEN number = 0 THEN 0e0 ELSE pow(0.002 * pow(1.3, number - 1), 2) END AS noise FROM numbers WHERE number < 25),
ratios AS MATERIALIZED (
  SELECT number, noise, item, sum(delta * delta / variance) / sum(1 - 2 * fraction + of_mean / variance) AS ratio,
    avg(ln(variance)) AS log_variance
  FROM (
    SELECT number, noise, item, delta, fraction, step * binomial + noise * binomial * binomial * spread AS of_mean,
      step * binomial / fraction + noise * binomial * binomial AS variance
    FROM deltas CROSS JOIN noises) AS expected
  GROUP BY 1, 2, 3),
fitted AS MATERIALIZED (
  SELECT number, ratio, log_variance FROM ratios JOIN items USING (item) WHERE part = 'self'),
-- For integrals of the beta distribution in y = ln(x / (1 - x)): around a y, by exponents (Takahasi and Mori 1974).
steps AS (
  SELECT 0.03 * number - 3 AS s FROM numbers WHERE number < 284),
nodes AS MATERIALIZED (
  SELECT sign * exp(s - exp(-s)) AS y, exp(s - exp(-s)) * (1 + exp(-s)) AS part
  FROM steps CROSS JOIN (SELECT -1 AS sign UNION ALL SELECT 1) AS signs),
-- The prior of variances (cli/diff/statistics.h): its degrees of freedom, and its variance by Newton's method.
freedoms AS (
  SELECT 1000 / pow(1.3, number) AS prior FROM numbers WHERE number < 31),
betas AS MATERIALIZED (
  SELECT prior, ln(sum(part * exp(-prior / 2 * ln((1 + freedom / prior * exp(-y)) * prior / (prior + freedom))
      - freedom / 2.0 * ln((1 + prior / freedom * exp(y)) * freedom / (prior + freedom)))))
    + prior / 2 * ln(prior / (prior + freedom)) + freedom / 2.0 * ln(freedom / (prior + freedom)) AS beta
  FROM freedoms CROSS JOIN known CROSS JOIN nodes GROUP BY prior, freedom),
fit0 AS (
  SELECT noises.number, prior, freedom, n, 0.01 AS variance FROM noises CROSS JOIN freedoms CROSS JOIN known WHERE n > 2),
fit1 AS MATERIALIZED (
  SELECT number, prior, freedom, n, terms.variance + avg(share) * (avg(share) - 1) / (prior * avg(slope)) AS variance
  FROM (SELECT fit.*, (freedom + prior) * ratio / (prior * variance + freedom * ratio) AS share,
    (freedom + prior) * ratio / pow(prior * variance + freedom * ratio, 2) AS slope FROM fit0 AS fit JOIN fitted USING (number)) AS terms
  GROUP BY number, prior, freedom, n, terms.variance),
fit2 AS MATERIALIZED (
  SELECT number, prior, freedom, n, terms.variance + avg(share) * (avg(share) - 1) / (prior * avg(slope)) AS variance
  FROM (SELECT fit.*, (freedom + prior) * ratio / (prior * variance + freedom * ratio) AS share,
    (freedom + prior) * ratio / pow(prior * variance + freedom * ratio, 2) AS slope FROM fit1 AS fit JOIN fitted USING (number)) AS terms
  GROUP BY number, prior, freedom, n, terms.variance),
fit3 AS MATERIALIZED (
  SELECT number, prior, freedom, n, terms.variance + avg(share) * (avg(share) - 1) / (prior * avg(slope)) AS variance
  FROM (SELECT fit.*, (freedom + prior) * ratio / (prior * variance + freedom * ratio) AS share,
    (freedom + prior) * ratio / pow(prior * variance + freedom * ratio, 2) AS slope FROM fit2 AS fit JOIN fitted USING (number)) AS terms
  GROUP BY number, prior, freedom, n, terms.variance),
fit4 AS MATERIALIZED (
  SELECT number, prior, freedom, n, terms.variance + avg(share) * (avg(share) - 1) / (prior * avg(slope)) AS variance
  FROM (SELECT fit.*, (freedom + prior) * ratio / (prior * variance + freedom * ratio) AS share,
    (freedom + prior) * ratio / pow(prior * variance + freedom * ratio, 2) AS slope FROM fit3 AS fit JOIN fitted USING (number)) AS terms
  GROUP BY number, prior, freedom, n, terms.variance),
variances AS (
  SELECT number, prior, freedom, n, CASE WHEN variance > 0.01 THEN variance ELSE 0.01 END AS variance FROM fit4),
likely AS MATERIALIZED (
  SELECT number, prior, variance, -n * beta - n * freedom / 2.0 * ln(prior * variance) - (freedom + prior) / 2 * (
      SELECT sum(ln(1 + freedom * ratio / (prior * variance))) FROM fitted WHERE fitted.number = variances.number) AS likelihood
  FROM variances JOIN betas USING (prior)),
best AS MATERIALIZED (
  SELECT number, most, freedom, n
  FROM (SELECT number, sum(log_variance) AS logs FROM fitted GROUP BY 1) AS sums CROSS JOIN known
    LEFT JOIN (SELECT number, max(likelihood) AS most FROM likely GROUP BY 1) AS peaks USING (number)
  ORDER BY coalesce(most, 0) - freedom / 2.0 * logs + CASE WHEN number = 0 THEN 1.92 ELSE 0.0 END DESC LIMIT 1),
priors AS (
  SELECT prior, variance FROM likely JOIN best USING (number) WHERE likelihood >= most - 0.82 ORDER BY prior LIMIT 1),
estimates AS MATERIALIZED (
  SELECT item, noise, ratio, freedom, n, prior, variance
  FROM ratios JOIN best USING (number) LEFT JOIN priors ON 1 = 1),
-- Too large to come from the prior, by the F distribution.
outliers AS (
  SELECT item FROM estimates CROSS JOIN nodes WHERE prior IS NOT NULL AND ratio > variance
  GROUP BY item, n HAVING n * sum(CASE WHEN y < 0 THEN part * exp(
      -prior / 2 * ln((1 + freedom * ratio / (prior * variance) * exp(-y)) * prior / (prior + freedom))
      - freedom / 2.0 * ln((1 + prior * variance / (freedom * ratio) * exp(y)) * freedom / (prior + freedom))) ELSE 0 END)
    < 0.1 * sum(part * exp(
      -prior / 2 * ln((1 + freedom * ratio / (prior * variance) * exp(-y)) * prior / (prior + freedom))
      - freedom / 2.0 * ln((1 + prior * variance / (freedom * ratio) * exp(y)) * freedom / (prior + freedom))))),
shrunk AS (
  SELECT item, noise,
    CASE WHEN is_alone = 1 THEN ratio ELSE (freedom * ratio + prior * variance) / (freedom + prior) END AS ratio,
    CASE WHEN is_alone = 1 OR n < 1 THEN freedom WHEN prior > freedom * (n - 1) THEN freedom * n ELSE freedom + prior END AS freedom
  FROM (
    SELECT *, CASE WHEN prior IS NULL OR item IN (SELECT item FROM outliers) THEN 1 ELSE 0 END AS is_alone FROM estimates) AS estimates),
-- Welch's degrees of freedom, and Student's limit for them (Abramowitz and Stegun, 26.7.5).
errors AS (
  SELECT item, sqrt(sum(variance + step * step)) AS error,
    floor(CASE WHEN pow(sum(variance + step * step) / sum(variance), 2) * sides.freedom < 1000
      THEN pow(sum(variance + step * step) / sum(variance), 2) * sides.freedom ELSE 1000 END) AS freedom
  FROM (
    SELECT item, version, freedom, step,
      CASE WHEN ratio * (step * binomial + noise * binomial * binomial * spread) > 0.25 * step * binomial
        THEN ratio * (step * binomial + noise * binomial * binomial * spread) ELSE 0.25 * step * binomial END AS variance
    FROM shrunk JOIN (SELECT DISTINCT item, version, step, spread, binomial FROM deltas) AS means USING (item)) AS sides
  GROUP BY item, sides.freedom),
changes AS MATERIALIZED (
  SELECT item, old, new, new - old AS change, error, freedom, pow((new - old) / error, 2) + 1e-30 AS square, error * CASE freedom
      WHEN 1 THEN 12.7062 WHEN 2 THEN 4.3027 ELSE 1.959964 + 2.372272 / freedom + 2.822502 / pow(freedom, 2)
        + 2.555853 / pow(freedom, 3) + 1.589536 / pow(freedom, 4) END AS wide
  FROM errors JOIN (
    SELECT item, max(CASE WHEN version = 0 THEN share END) AS old, max(CASE WHEN version = 1 THEN share END) AS new
    FROM deltas GROUP BY 1) AS shares USING (item)),
chances AS (
  SELECT item, sum(CASE WHEN y < 0 THEN density ELSE 0 END) / sum(density) AS probability
  FROM (
    SELECT item, y, part * exp(-freedom / 2 * ln((1 + square / freedom * exp(-y)) * freedom / (freedom + 1))
      - 0.5 * ln((1 + freedom / square * exp(y)) / (freedom + 1))) AS density
    FROM changes CROSS JOIN nodes) AS densities
  GROUP BY 1),
-- Of the significant changes, 5 % may be chance (Benjamini and Hochberg 1995).
ranks AS (
  SELECT item, probability, row_number() OVER (ORDER BY probability) AS place, count(*) OVER () AS n FROM chances)
SELECT part, function, module, round(100 * old, 3) AS old, round(100 * new, 3) AS new, round(100 * change, 3) AS change,
  round(100 * (changes.change - wide), 3) AS low, round(100 * (changes.change + wide), 3) AS high, round(probability, 6) AS probability,
  place <= coalesce((SELECT max(place) FROM ranks WHERE probability <= 0.05 * place / n), 0) AS is_sure
FROM changes JOIN ranks USING (item) JOIN items USING (item)
ORDER BY is_sure DESC, abs(change) DESC, part, function, module;
