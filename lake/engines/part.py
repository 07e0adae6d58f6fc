# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

import pyarrow.compute as pc
import pyarrow.parquet as pq

t = pq.read_table("traces.parquet")
pq.write_table(t.filter(pc.equal(t["kind"], "server")), "part.parquet")
