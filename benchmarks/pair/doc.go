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
// The variants differ only in protocol and compression. They take turns, round by round. A ratio
// compares two turns of the same round, and tables show the medians of the rounds. Each set is
// measured at three ages of a stream: see Age.
//
// The summary has one row for each signal, age and group of sets. Each set has the same
// weight, whatever its number of items:
//
//   - Items per CPU second: each set has a median over its rounds, in ns per item. The row has
//     the arithmetic mean of these medians, converted to items per second.
//   - Speed: the ns per item of OTLP divided by the ns per item of STEF, each summed over the
//     sets of a round. The row has the median over the rounds. It can differ from the quotient
//     of the columns before it, and it can be below the speed of the worst set.
//   - Bytes an item: the arithmetic mean over the sets. The ratio is the quotient of the two means,
//     so sets with large items have more influence.
//   - Worst: the ratio of the set with the worst ratio.
//
// A set that fails is not in the tables and the means. The line FAILED at the end names it, and says how to repeat it.
//
// The flag -compare measures other settings of STEF in the same rounds. Another table compares them
// with the settings of the other flags. Two runs on a machine with other work are not comparable.
//
//	go test -run '^$' -bench Pair -benchtime 10x ./pair -compare mode=ordered,schema=full+level=best
//
// CPU profiles label goroutines with the variant. Heap profiles have no labels, so
// a flag selects variants:
//
//	go tool pprof -tagfocus variant=STEF cpu.out
//	go test -bench Pair -variants STEF -memprofile mem.out ./pair
package pair
