-- Copyright The Otel/STEF Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Questions people ask, for DuckDB in the folder of the files. Each query begins after
-- its name.

-- name: slowest operations
SELECT service_name, name, count(*) AS spans, quantile_disc(duration_ns, 0.99) / 1e6 AS p99_ms
FROM 'traces.parquet'
GROUP BY service_name, name
ORDER BY p99_ms DESC, service_name, name
LIMIT 10;

-- name: error rate by service
SELECT service_name, count(*) AS spans, count(*) FILTER (status_code = 'error') AS errors,
  100.0 * errors / spans AS percent
FROM 'traces.parquet'
GROUP BY service_name
ORDER BY percent DESC, service_name;

-- name: top metrics by cardinality
SELECT metric_name, count(DISTINCT (resource_attributes, scope_name, attributes)) AS series, count(*) AS points
FROM 'metrics.parquet'
GROUP BY metric_name
ORDER BY series DESC, metric_name
LIMIT 10;

-- name: logs around a trace id
WITH span AS (
  SELECT epoch_ns(min(start_time)) AS first, epoch_ns(max(end_time)) AS last
  FROM 'traces.parquet'
  WHERE trace_id = unhex($trace)
)
SELECT time, service_name, severity_text, body, coalesce(trace_id = unhex($trace), false) AS of_trace
FROM 'logs.parquet', span
WHERE epoch_ns(time) BETWEEN first - 1_000_000_000 AND last + 1_000_000_000
ORDER BY time, service_name, body;

-- name: bytes by service
SELECT service_name, count(*) AS records,
  sum(coalesce(strlen(body), 0)) AS body_bytes,
  sum(coalesce(list_sum(list_transform(map_entries(attributes), lambda e: strlen(e.key) + strlen(e.value))), 0)) AS attribute_bytes
FROM 'logs.parquet'
GROUP BY service_name
ORDER BY body_bytes DESC, service_name;
