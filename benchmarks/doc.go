// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package benchmarks compares the size, speed, memory and transport of STEF with those of OTLP,
// Otel Arrow, Arrow IPC, Parquet and the reference implementation of STEF. README.md has the
// main results and links to the other results. method.md describes the measurements.
//
//	go test -run '^$' -bench .                          // every benchmark
//	go test -run '^TestReport$' . -v -report again      // the report: make report
//
// Benchmarks run on the recordings of the repository, and on the large real
// sets if those are found. The first line of the output names the sets. Every
// result is decoded and compared before it is timed.
package benchmarks
