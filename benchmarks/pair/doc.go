// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package pair measures the exporter and the receiver in normal use. Batches of
// real telemetry pass through the exporter and its queue, a gRPC connection
// over the loopback interface, and the receiver to its consumer. All of it runs
// in this process, so the processor time of the process is the cost of both
// ends, gRPC, the kernel and the garbage collector.
//
//	go test -run '^$' -bench Pair -benchtime 5x ./pair
//
// The variants differ only in protocol and compression. They take turns, round
// by round; ratios are of turns in the same round, and tables have medians.
// Each set is measured at three ages of a stream: see Age.
//
// The summary has one row for each signal, age and group of sets. Each set has the same
// weight, whatever its number of items:
//
//   - Items per CPU second: each set has a median over its rounds, in ns an item. The row has
//     the arithmetic mean of these over the sets, as items per second.
//   - Speed: each round has a ratio: the sum of the ns an item of OTLP over the sets, divided
//     by the same sum of STEF. The row has the median of these ratios, so it differs from the
//     quotient of the columns before it. It can be below the worst set, which has a median of its own.
//   - Bytes an item: the arithmetic mean over the sets. The ratio is the quotient of the two means,
//     so sets with large items count more.
//   - Worst: the one set with the worst ratio.
//
// A set that fails is not in the tables and the means. The line FAILED at the end names it, and says how to repeat it.
//
// The flag -compare measures other settings of STEF in the same rounds. A table has their ratios to STEF
// with the settings of the other flags. Two runs are not comparable on a machine with other work.
//
//	go test -run '^$' -bench Pair -benchtime 10x ./pair -compare mode=ordered,schema=full+level=best
//
// CPU profiles label goroutines with the variant. Heap profiles have no labels, so
// a flag selects variants:
//
//	go tool pprof -tagfocus variant=STEF cpu.out
//	go test -bench Pair -variants STEF -memprofile mem.out ./pair
package pair
