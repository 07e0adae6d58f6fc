# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

"""Measures the ways from telemetry to Parquet, in MB of OTLP (protobuf) a second.

The folder has the program stef, and traces and logs as .json. DuckDB and polars read the
JSON, make a row of each span or log record, with attributes as lists of structs, and
write Parquet with zstd. pyarrow reads the JSON and writes Parquet with zstd without
making rows: its table has a row for each OTLP message. Further arguments are the signals
to measure, all by default.
"""

import os
import resource
import subprocess
import sys
import time

DUCKDB = """
import duckdb, sys
duckdb.sql('''COPY (
  SELECT r.r.resource AS resource, s.s.scope AS scope, unnest(i.i)
  FROM read_json('%(name)s.json', format='newline_delimited', maximum_object_size=1073741824, sample_size=-1) AS m,
    unnest(m.%(resources)s) AS r(r), unnest(r.r.%(scopes)s) AS s(s), unnest(s.s.%(items)s) AS i(i)
) TO 'duckdb-%(name)s.parquet' (FORMAT parquet, COMPRESSION zstd)''')
"""

POLARS = """
import polars as pl
(pl.read_ndjson('%(name)s.json', infer_schema_length=None)
  .explode('%(resources)s').unnest('%(resources)s')
  .explode('%(scopes)s').unnest('%(scopes)s', separator='.')
  .explode('%(scopes)s.%(items)s').unnest('%(scopes)s.%(items)s', separator='.')
  .write_parquet('polars-%(name)s.parquet', compression='zstd'))
"""

PYARROW = """
import pyarrow.json, pyarrow.parquet
table = pyarrow.json.read_json('%(name)s.json', pyarrow.json.ReadOptions(block_size=1 << 26))
pyarrow.parquet.write_table(table, 'pyarrow-%(name)s.parquet', compression='zstd')
"""


def run(what, otlp, *command):
    best, cpu = None, None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        subprocess.run(command, check=True)
        took = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if best is None or took < best:
            best, cpu = took, used
    print(f"| {what} | {otlp / best / 1e6:.1f} | {otlp / cpu / 1e6:.1f} |")


def main(folder, *signals):
    os.chdir(folder)
    for name, resources, scopes, items in (("traces", "resourceSpans", "scopeSpans", "spans"),
                                           ("logs", "resourceLogs", "scopeLogs", "logRecords")):
        if signals and name not in signals:
            continue
        convert = ("./stef", "convert", "--quiet", "--force", "--signal", name)
        subprocess.run(convert + (f"{name}.json", f"{name}.parts"), check=True)
        subprocess.run(convert + (f"{name}.json", f"{name}.stef"), check=True)
        otlp = os.path.getsize(f"{name}.parts")
        print(f"{name}: {otlp:,} bytes of OTLP, {os.path.getsize(name + '.json'):,} as JSON")
        print("| route | MB/s | MB/s of one CPU |\n|---|--:|--:|")
        for source in ("stef", "parts", "json"):
            for to in ("parquet", "arrow"):
                run(f"{name}.{source} to {to}, stef convert", otlp, *convert, f"{name}.{source}", f"{name}-of-{source}.{to}")
        names = dict(name=name, resources=resources, scopes=scopes, items=items)
        for what, code in (("DuckDB read_json", DUCKDB), ("polars read_ndjson", POLARS), ("pyarrow read_json, no rows", PYARROW)):
            run(f"{name}.json to parquet, {what}", otlp, sys.executable, "-c", code % names)
        for made in (f"{name}-of-stef.parquet", f"duckdb-{name}.parquet", f"polars-{name}.parquet", f"pyarrow-{name}.parquet", f"{name}.stef"):
            print(f"{made}: {os.path.getsize(made):,} bytes")


main(*sys.argv[1:])
