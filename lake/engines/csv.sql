-- Copyright The Otel/STEF Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Exports the tables as CSV with DuckDB, in the folder of the files.

COPY (SELECT * EXCLUDE (otlp) REPLACE (
    lower(hex(trace_id)) AS trace_id, lower(hex(span_id)) AS span_id, lower(hex(parent_span_id)) AS parent_span_id,
    to_json(resource_attributes) AS resource_attributes, to_json(scope_attributes) AS scope_attributes,
    to_json(attributes) AS attributes, to_json(events) AS events,
    to_json(list_transform(links, lambda l: struct_update(l, trace_id := lower(hex(l.trace_id)), span_id := lower(hex(l.span_id))))) AS links)
  FROM 'traces.parquet') TO 'traces.csv';

COPY (SELECT * EXCLUDE (otlp) REPLACE (
    lower(hex(trace_id)) AS trace_id, lower(hex(span_id)) AS span_id,
    to_json(resource_attributes) AS resource_attributes, to_json(scope_attributes) AS scope_attributes,
    to_json(attributes) AS attributes)
  FROM 'logs.parquet') TO 'logs.csv';

COPY (SELECT * EXCLUDE (otlp) REPLACE (
    to_json(resource_attributes) AS resource_attributes, to_json(scope_attributes) AS scope_attributes,
    to_json(attributes) AS attributes, to_json(metric_metadata) AS metric_metadata, to_json(quantiles) AS quantiles,
    to_json(list_transform(exemplars, lambda e: struct_update(e, trace_id := lower(hex(e.trace_id)), span_id := lower(hex(e.span_id))))) AS exemplars)
  FROM 'metrics.parquet') TO 'metrics.csv';
