# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

"""Checks that engines read the tables that stef writes, and runs queries.sql.

The folder has traces, metrics and logs as .parquet, .arrow and .json. What the engines
return is compared with what this program computes from the OTLP JSON.
"""

import collections
import csv
import glob
import json
import math
import os
import re
import subprocess
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet

HERE = os.path.dirname(os.path.abspath(__file__))


def text(value):
    """The text of an OTLP value, as in the maps of the tables."""
    (kind, v), = value.items() if value else (("none", None),)
    if kind == "boolValue":
        return "true" if v else "false"
    if kind == "doubleValue":
        return None  # formatted by Go: not compared
    if kind in ("arrayValue", "kvlistValue", "bytesValue"):
        return None
    return None if v is None else str(v)


def attributes(owner):
    return {a["key"]: text(a.get("value", {})) for a in owner.get("attributes", [])}


def messages(name):
    with open(name) as lines:
        for line in lines:
            yield json.loads(line)


def items(name, resources, scopes, of):
    """Yields (resource, scope, item) of a file."""
    for message in messages(name):
        for r in message.get(resources, []):
            for s in r.get(scopes, []):
                for item in s.get(of, []):
                    yield r.get("resource", {}), s.get("scope", {}), item


def service(resource):
    return attributes(resource).get("service.name")


def equal(what, want, got):
    if want != got:
        sys.exit(f"{what}: want {want!r}, got {got!r}")
    print(f"{what}: {str(got)[:100]}")


def queries():
    source = open(os.path.join(HERE, "queries.sql")).read()
    return dict(re.findall(r"-- name: (.*)\n((?:(?!-- name:)[^\0])*)", source))


def check_engines(signal, rows, column, total):
    """Reads a table with every engine: the number of rows, and a sum."""
    table = pyarrow.parquet.read_table(signal + ".parquet")
    equal(f"pyarrow, {signal}.parquet", (rows, total), (table.num_rows, pyarrow.compute.sum(table[column]).as_py()))
    frame = table.to_pandas()
    equal(f"pandas, {signal}.parquet", rows, len(frame))
    with pyarrow.ipc.open_stream(signal + ".arrow") as stream:
        arrow = stream.read_all()
    equal(f"pyarrow, {signal}.arrow", (rows, total), (arrow.num_rows, pyarrow.compute.sum(arrow[column]).as_py()))
    for name, read in (("parquet", polars.read_parquet), ("arrow", polars.read_ipc_stream)):
        df = read(f"{signal}.{name}")
        equal(f"polars, {signal}.{name}", (rows, total), (df.height, df[column].sum()))
    got = duckdb.sql(f"SELECT count(*), sum({column}) FROM '{signal}.parquet'").fetchall()[0]
    equal(f"duckdb, {signal}.parquet", (rows, total), (got[0], int(got[1])))
    got = duckdb.sql("SELECT count(*) FROM arrow").fetchall()[0]
    equal(f"duckdb, {signal}.arrow", (rows,), got)
    # Text and maps are equal in both formats.
    equal(f"{signal}, attributes of both formats", table["attributes"].to_pylist(), arrow["attributes"].to_pylist())
    equal(f"{signal}, services of both formats", table["service_name"].to_pylist(), arrow["service_name"].to_pylist())
    # Keys and values are dictionaries in Arrow: the other engines read them as well.
    pairs = sum(len(m or []) for m in table["attributes"].to_pylist())
    got = duckdb.sql("SELECT sum(cardinality(attributes)), count(DISTINCT attributes) FROM arrow").fetchall()[0]
    want = duckdb.sql(f"SELECT sum(cardinality(attributes)), count(DISTINCT attributes) FROM '{signal}.parquet'").fetchall()[0]
    equal(f"duckdb, attributes of {signal}.arrow", (pairs, want[1]), (int(got[0]), got[1]))
    maps = [read(f"{signal}.{name}")["attributes"].to_list() for name, read in (("parquet", polars.read_parquet), ("arrow", polars.read_ipc_stream))]
    equal(f"polars, attributes of {signal}.arrow", maps[0], maps[1])
    equal(f"pandas, attributes of {signal}.arrow", pairs, int(arrow.to_pandas()["attributes"].map(lambda m: 0 if m is None else len(m)).sum()))


def main(folder):
    asked = queries()
    os.chdir(folder)
    con = duckdb.connect()
    con.sql("SET TimeZone = 'UTC'")

    spans = list(items("traces.json", "resourceSpans", "scopeSpans", "spans"))
    logs = list(items("logs.json", "resourceLogs", "scopeLogs", "logRecords"))
    metrics = list(items("metrics.json", "resourceMetrics", "scopeMetrics", "metrics"))
    points = [(r, s, m["name"], p) for r, s, m in metrics
              for kind in ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
              for p in m.get(kind, {}).get("dataPoints", [])]

    length = lambda s: int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"])
    check_engines("traces", len(spans), "duration_ns", sum(length(s) for _, _, s in spans))
    check_engines("logs", len(logs), "severity_number", sum(l.get("severityNumber", 0) for _, _, l in logs))
    check_engines("metrics", len(points), "count", sum(int(p.get("count", 0)) for _, _, _, p in points))

    got = con.sql(asked["slowest operations"]).fetchall()
    by = collections.defaultdict(list)
    for r, _, s in spans:
        by[service(r), s["name"]].append(length(s))
    want = [(k[0], k[1], len(d), sorted(d)[max(math.ceil(0.99 * len(d)) - 1, 0)] / 1e6) for k, d in by.items()]
    want.sort(key=lambda row: (-row[3], row[0], row[1]))
    equal("slowest operations", want[:10], got)

    got = con.sql(asked["error rate by service"]).fetchall()
    count, errors = collections.Counter(), collections.Counter()
    for r, _, s in spans:
        count[service(r)] += 1
        errors[service(r)] += s.get("status", {}).get("code", 0) == 2
    want = [(k, n, errors[k], 100.0 * errors[k] / n) for k, n in count.items()]
    want.sort(key=lambda row: (-row[3], row[0]))
    equal("error rate by service", want, [(a, b, c, float(d)) for a, b, c, d in got])

    got = con.sql(asked["top metrics by cardinality"]).fetchall()
    series, n = collections.defaultdict(set), collections.Counter()
    key = lambda owner: json.dumps(sorted(owner.get("attributes", []), key=lambda a: a["key"]))
    for r, s, name, p in points:
        series[name].add((key(r), s.get("name"), key(p)))
        n[name] += 1
    want = sorted(((name, len(x), n[name]) for name, x in series.items()), key=lambda row: (-row[1], row[0]))[:10]
    equal("top metrics by cardinality", want, got)

    trace = next(l["traceId"] for _, _, l in logs if l.get("traceId") and
                 any(s["traceId"] == l["traceId"] for _, _, s in spans))
    got = con.sql(asked["logs around a trace id"], params={"trace": trace}).fetchall()
    of = [s for _, _, s in spans if s["traceId"] == trace]
    first = min(int(s["startTimeUnixNano"]) for s in of) - 10**9
    last = max(int(s["endTimeUnixNano"]) for s in of) + 10**9
    around = [l for _, _, l in logs if first <= int(l.get("timeUnixNano", 0)) <= last]
    equal("logs around a trace id", (len(around), sum(l.get("traceId") == trace for l in around)),
          (len(got), sum(row[4] for row in got)))
    if not any(row[4] for row in got):
        sys.exit("no log record is of the trace")

    got = con.sql(asked["bytes by service"]).fetchall()
    plain = collections.Counter()
    records = collections.Counter(service(r) for r, _, _ in logs)
    for r, _, l in logs:
        plain[service(r)] += len((l.get("body", {}).get("stringValue") or "").encode())
    equal("bytes by service, records", dict(records), {row[0]: row[1] for row in got})
    for name, _, body, _ in got:
        if int(body) < plain[name]:
            sys.exit(f"bytes by service: {name} has {body}, its text bodies alone have {plain[name]}")
    text_only = con.sql("SELECT service_name, sum(strlen(body)) FROM 'logs.parquet' WHERE body_type IS NULL GROUP BY 1").fetchall()
    equal("bytes by service, text bodies", {k: v for k, v in plain.items() if v}, {k: int(v) for k, v in text_only})

    # A user can get the trace id for the query above in this way.
    slowest = "SELECT lower(hex(trace_id)) FROM 'traces.parquet' ORDER BY duration_ns DESC LIMIT 1"
    trace = duckdb.sql(slowest).fetchall()[0][0]
    longest = max(length(s) for _, _, s in spans)
    equal("trace of the slowest span", True, trace in {s["traceId"] for _, _, s in spans if length(s) == longest})

    # CSV has the ids as digits, and attributes as JSON.
    con.execute(open(os.path.join(HERE, "csv.sql")).read())
    csv.field_size_limit(1 << 30)
    tables = {name: list(csv.DictReader(open(name + ".csv"))) for name in ("traces", "logs", "metrics")}
    equal("rows of CSV", (len(spans), len(logs), len(points)), tuple(len(tables[name]) for name in ("traces", "logs", "metrics")))
    ids = lambda *names: lambda item: tuple(item.get(name, "") for name in names)
    equal("ids of spans in CSV", sorted(ids("traceId", "spanId", "parentSpanId")(s) for _, _, s in spans),
          sorted(ids("trace_id", "span_id", "parent_span_id")(row) for row in tables["traces"]))
    equal("ids of log records in CSV", sorted(ids("traceId", "spanId")(l) for _, _, l in logs),
          sorted(ids("trace_id", "span_id")(row) for row in tables["logs"]))
    equal("ids of links in CSV", sorted(ids("traceId", "spanId")(l) for _, _, s in spans for l in s.get("links", [])),
          sorted(ids("trace_id", "span_id")(l) for row in tables["traces"] for l in json.loads(row["links"] or "[]")))
    equal("ids of exemplars in CSV", sorted(e.get("traceId", "") for _, _, _, p in points for e in p.get("exemplars", [])),
          sorted(e["trace_id"] or "" for row in tables["metrics"] for e in json.loads(row["exemplars"] or "[]")))
    for name, all_items in (("traces", spans), ("logs", logs), ("metrics", points)):
        equal(f"keys of attributes in {name}.csv", sum(len({a["key"] for a in i[-1].get("attributes", [])}) for i in all_items),
              sum(len(json.loads(row["attributes"] or "{}")) for row in tables[name]))

    # The columns that were chosen.
    got = duckdb.sql("SELECT count(\"http.route\"), count(\"resource.process.runtime.name\") FROM 'traces.parquet'").fetchall()[0]
    equal("chosen columns", (sum("http.route" in attributes(s) for _, _, s in spans),
                             sum("process.runtime.name" in attributes(r) for r, _, _ in spans)), got)

    # Parts that pyarrow, DuckDB and pandas selected can be converted back.
    for name in glob.glob("from-*.parquet"):
        os.remove(name)
    exec(open(os.path.join(HERE, "part.py")).read(), {})
    servers = sorted(json.dumps(s, sort_keys=True) for _, _, s in spans if s.get("kind") == 2)
    for part in ("part", "duckdb-part", "pandas-part", "polars-part"):
        subprocess.run(["./stef", "convert", "--quiet", "--force", part + ".parquet", part + ".json"], check=True)
        got = sorted(json.dumps(s, sort_keys=True) for _, _, s in items(part + ".json", "resourceSpans", "scopeSpans", "spans"))
        equal("spans of " + part, servers, got)

    # Files that DuckDB, polars and pandas wrote are restored as the page says.
    t = pyarrow.parquet.read_table("traces.parquet")
    services = {service(r) for r, _, _ in spans} - {None}
    equal("rows of the files of services", len(t) - t["service_name"].null_count,
          sum(pyarrow.parquet.read_metadata(f"service-{s}.parquet").num_rows for s in services))
    begun = glob.glob("from-*.parquet")
    equal("rows of the files of 10 seconds", len(t) - t["start_time"].null_count,
          sum(pyarrow.parquet.read_metadata(name).num_rows for name in begun))
    for name in begun:
        times = pyarrow.parquet.read_table(name)["start_time"].cast("int64").to_numpy()
        equal("10 seconds of " + name, 1, len(set(times // 10**10)))
    frame = pandas.read_parquet("traces.parquet", dtype_backend="pyarrow")
    restored = {"copied": lambda: duckdb.sql("COPY (FROM 'traces.parquet') TO 'copied.parquet'"),
                "polars": lambda: polars.read_parquet("traces.parquet").write_parquet("polars.parquet"),
                "pandas": lambda: frame.to_parquet("pandas.parquet"),
                "servers": lambda: frame[frame.kind == "server"].to_parquet("servers.parquet"),  # has the index of pandas as a column
                "partitioned": lambda: duckdb.sql("COPY (FROM 'traces.parquet') TO 'partitioned.parquet' (FORMAT parquet, PARTITION_BY (kind), OVERWRITE)"),
                "polars-partitioned": lambda: polars.read_parquet("traces.parquet").write_parquet("polars-partitioned.parquet", partition_by="status_code")}
    options = {"polars-partitioned": {"partitioning": None}}  # polars keeps the column in the files
    want = sorted(json.dumps(s, sort_keys=True) for _, _, s in spans)
    for name, write in restored.items():
        write()
        file = pyarrow.parquet.read_table(name + ".parquet", **options.get(name, {}))
        pyarrow.parquet.write_table(file.select(t.schema.names).cast(t.schema), name + "-restored.parquet")
        subprocess.run(["./stef", "convert", "--quiet", "--force", name + "-restored.parquet", name + ".json"], check=True)
        got = sorted(json.dumps(s, sort_keys=True) for _, _, s in items(name + ".json", "resourceSpans", "scopeSpans", "spans"))
        equal("spans of " + name, servers if name == "servers" else want, got)
    print("all queries agree")


main(sys.argv[1])
