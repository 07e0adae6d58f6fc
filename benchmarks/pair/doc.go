// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package pairbench measures the exporter and the receiver together, against
// OTLP by the same path. It has tests and benchmarks and nothing else.
//
//	go test -bench Pair -benchtime 3x ./internal/pairbench
//
// A batch goes from the caller of the exporter through its queue, a connection
// of gRPC over the loopback interface and the receiver to the consumer behind it,
// all in this process, and the processor time of the process is what it costs:
// both ends, gRPC, the kernel and the garbage collector. Nothing waits for
// anything but the other end, so wall time says little and is not reported.
//
// The ways of a batch, called variants, differ in nothing but the protocol and
// the compression. They take turns, round by round, and the best round of each
// counts. Every round begins with new components, so what a stream learns of the
// data it learns in the round; opening the connection and the stream, and what
// the first batch of a process allocates, come before the measurement, in a
// batch of one item that has nothing in common with the set.
//
// Profiles of the processor tag what goroutines do with the variant, those of the
// heap have no tags, so there is a flag to measure one alone:
//
//	go tool pprof -tagfocus variant=STEF cpu.out
//	go test -bench Pair -variants STEF -memprofile mem.out ./internal/pairbench
package pairbench
