# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.compute as pc
import pyarrow.parquet as pq

t = pq.read_table("traces.parquet")
pq.write_table(t.filter(pc.equal(t["kind"], "server")), "part.parquet")

rows = duckdb.sql("FROM 'traces.parquet' WHERE kind = 'server'").to_arrow_table()
pq.write_table(rows.cast(t.schema), "duckdb-part.parquet")

df = pandas.read_parquet("traces.parquet", dtype_backend="pyarrow")
rows = pyarrow.Table.from_pandas(df[df.kind == "server"], schema=t.schema, preserve_index=False)
pq.write_table(rows.replace_schema_metadata(t.schema.metadata), "pandas-part.parquet")

rows = polars.read_parquet("traces.parquet").filter(polars.col("kind") == "server").to_arrow()
pq.write_table(rows.cast(t.schema), "polars-part.parquet")

# A file for each service. drop_null leaves out the spans without a service: their service_name is null.
for service in pc.unique(t["service_name"]).drop_null().to_pylist():
    pq.write_table(t.filter(pc.equal(t["service_name"], service)), f"service-{service}.parquet")

# A file for each 10 seconds.
begins = pc.floor_temporal(t["start_time"], 10, "second")
for begin in pc.unique(begins).drop_null():
    pq.write_table(t.filter(pc.equal(begins, begin)), f"from-{begin.as_py():%Y%m%d-%H%M%S}.parquet")
