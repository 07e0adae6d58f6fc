# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

"""Measures the ways from telemetry to Parquet, in MB of OTLP (protobuf) a second.

The folder has the program stef, and traces, metrics and logs as .json. Each input is the
telemetry of a file ROUNDS times (10 by default), each time with new ids and later times,
so that the start of the programs, which has a table of its own, is a small part.

DuckDB, polars and pyarrow read the JSON, make a row of each span, point or log record,
with attributes as lists of structs, and write Parquet with zstd. pyarrow is also measured
without making rows: its table then has a row for each OTLP message. The routes of a signal
take turns three times; those that needed more than SLOW seconds run once. Further arguments
are the signals to measure, all by default.
"""

import os
import resource
import signal
import socket
import subprocess
import sys
import time

SIGNALS = {
    "traces": dict(name="traces", resources="resourceSpans", scopes="scopeSpans", items="spans"),
    "metrics": dict(name="metrics", resources="resourceMetrics", scopes="scopeMetrics", items="metrics"),
    "logs": dict(name="logs", resources="resourceLogs", scopes="scopeLogs", items="logRecords"),
}

# The fields of a metric that can contain its points.
KINDS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")

DUCKDB_ITEMS = """
  SELECT r.r.resource AS resource, s.s.scope AS scope, unnest(i.i)
  FROM read_json('large-%(name)s.json', format='newline_delimited', maximum_object_size=1073741824, sample_size=-1) AS m,
    unnest(m.%(resources)s) AS r(r), unnest(r.r.%(scopes)s) AS s(s), unnest(s.s.%(items)s) AS i(i)
"""

DUCKDB = """
import duckdb
duckdb.sql('SET enable_progress_bar = false')
items = '''""" + DUCKDB_ITEMS + """'''
if '%(name)s' == 'metrics':
  kinds = """ + repr(KINDS) + """
  items = f'WITH metric AS MATERIALIZED ({items})' + ' UNION ALL BY NAME '.join(
    f"SELECT metric.* EXCLUDE ({','.join(kinds)}), '{kind}' AS kind, unnest(p.p) FROM metric, unnest(metric.{kind}.dataPoints) AS p(p)"
    for kind in kinds)
duckdb.sql(f"COPY ({items}) TO 'duckdb-%(name)s.parquet' (FORMAT parquet, COMPRESSION zstd)")
"""

POLARS = """
import polars as pl
table = (pl.read_ndjson('large-%(name)s.json', infer_schema_length=None)
  .explode('%(resources)s').unnest('%(resources)s')
  .explode('%(scopes)s').unnest('%(scopes)s', separator='.')
  .explode('%(scopes)s.%(items)s').unnest('%(scopes)s.%(items)s', separator='.'))
if '%(name)s' == 'metrics':
  kinds = ['scopeMetrics.metrics.' + kind for kind in """ + repr(KINDS) + """]
  table = pl.concat([table.filter(pl.col(kind).is_not_null()).drop([k for k in kinds if k != kind])
    .unnest(kind, separator='.').explode(kind + '.dataPoints').unnest(kind + '.dataPoints', separator='.')
    .rename(lambda name: name.removeprefix(kind + '.')) for kind in kinds], how='diagonal_relaxed')
  # Buckets that are always empty are structs without fields, which Parquet does not support.
  table = table.drop([name for name, of in table.schema.items() if of == pl.Struct([])])
table.write_parquet('polars-%(name)s.parquet', compression='zstd')
"""

PYARROW_READ = """
import pyarrow, pyarrow.compute, pyarrow.json, pyarrow.parquet
table = pyarrow.json.read_json('large-%(name)s.json', pyarrow.json.ReadOptions(block_size=1 << 26))
"""

PYARROW = PYARROW_READ + """
pyarrow.parquet.write_table(table, 'pyarrow-%(name)s.parquet', compression='zstd')
"""

PYARROW_ROWS = PYARROW_READ + """
def unnest(columns, name):
  structs = columns.pop(name)
  for field, column in zip(structs.type, structs.flatten()):
    columns[field.name if field.name not in columns else name + '.' + field.name] = column

def explode(columns, name):
  lists = columns.pop(name)
  at = pyarrow.compute.list_parent_indices(lists)
  for other in columns:
    columns[other] = columns[other].take(at)
  columns[name] = lists.flatten()
  unnest(columns, name)

columns = {name: table[name].combine_chunks() for name in table.column_names}
for name in ('%(resources)s', '%(scopes)s', '%(items)s'):
  explode(columns, name)
if '%(name)s' == 'metrics':
  kinds, tables = """ + repr(KINDS) + """, []
  for kind in kinds:
    valid = pyarrow.compute.is_valid(columns[kind])
    of = {name: column.filter(valid) for name, column in columns.items() if name not in kinds or name == kind}
    unnest(of, kind)
    explode(of, 'dataPoints')
    # Buckets that are always empty are structs without fields, which Parquet does not support.
    tables.append(pyarrow.table({name: column for name, column in of.items() if column.type != pyarrow.struct([])}))
  table = pyarrow.concat_tables(tables, promote_options='permissive')
else:
  table = pyarrow.table(columns)
pyarrow.parquet.write_table(table, 'pyarrow-rows-%(name)s.parquet', compression='zstd')
"""

ENGINES = (
    ("DuckDB read_json", "duckdb", DUCKDB),
    ("polars read_ndjson", "polars", POLARS),
    ("pyarrow read_json", "pyarrow.json, pyarrow.parquet, pyarrow.compute", PYARROW_ROWS),
    ("pyarrow read_json, no rows", None, PYARROW),
)


TURNS, SLOW = 3, 15


def run(*command):
    """The time of a command, and its CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    took = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(routes):
    """The times of the fastest run of each route, and its CPU time."""
    best = {}
    for _ in range(TURNS):
        for what, command in routes.items():
            if what in best and best[what][0] > SLOW:
                continue
            best[what] = min(best.get(what, (float("inf"),)), run(*command))
    return best


def enlarge(name, rounds):
    """Makes large-NAME.parts: what arrives when the file is sent ROUNDS times."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    recorder = subprocess.Popen(("./stef", "record", "--force", "--listen", address, "large-{signal}.parts"))
    try:
        subprocess.run(("./stef", "replay", "--endpoint", address, "--protocol", "stef", "--rate", "max", "--in-flight", "1", "--new-ids",
                        "--rounds", str(rounds), "--signal", name, f"{name}.json"), check=True)
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.wait()


def starts():
    print("| start and end of a process, without work | seconds | seconds of CPU |\n|---|--:|--:|")
    python = [(f"Python with {imports}", (sys.executable, "-c", "import " + imports)) for _, imports, _ in ENGINES if imports]
    routes = {"stef": ("./stef", "version"), "Python": (sys.executable, "-c", "")}
    routes.update({f"Python with {imports}": (sys.executable, "-c", "import " + imports) for _, imports, _ in ENGINES if imports})
    for what, times in measure(routes).items():
        print("| %s | %.2f | %.2f |" % (what, *times))


def main(folder, *signals):
    os.chdir(folder)
    rounds = int(os.environ.get("ROUNDS", "10"))
    print("load of the machine before: %.1f; figures of a machine with other load say nothing" % os.getloadavg()[0])
    starts()
    for name in signals or SIGNALS:
        enlarge(name, rounds)
        large = f"large-{name}"
        convert = ("./stef", "convert", "--quiet", "--force", "--signal", name)
        for to in ("json", "stef"):
            subprocess.run(convert + (f"{large}.parts", f"{large}.{to}"), check=True)
        otlp = os.path.getsize(f"{large}.parts")
        print(f"\n{name}: {otlp:,} bytes of OTLP, {os.path.getsize(large + '.json'):,} as JSON")
        print("| route | seconds | MB/s | MB/s of one CPU |\n|---|--:|--:|--:|")

        routes = {}
        for source in ("stef", "parts", "json"):
            for to in ("parquet", "arrow"):
                routes[f"{source} to {to}, stef convert"] = (*convert, f"{large}.{source}", f"{name}-of-{source}.{to}")
        for what, _, code in ENGINES:
            if code is PYARROW and name == "metrics":
                continue  # the nested table has structs without fields, which Parquet does not support
            routes[f"json to parquet, {what}"] = (sys.executable, "-c", code % SIGNALS[name])
        for what, (took, cpu) in measure(routes).items():
            print(f"| {what} | {took:.2f} | {otlp / took / 1e6:.1f} | {otlp / cpu / 1e6:.1f} |", flush=True)
        for made in (f"{name}-of-stef.parquet", f"duckdb-{name}.parquet", f"polars-{name}.parquet", f"pyarrow-rows-{name}.parquet",
                     f"pyarrow-{name}.parquet", f"{large}.stef"):
            if os.path.exists(made):
                print(f"{made}: {os.path.getsize(made):,} bytes")


main(*sys.argv[1:])
