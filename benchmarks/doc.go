// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package benchmarks compares STEF with OTLP on size, speed and memory. All of
// it is benchmarks: run `go test -bench .` here. They run on the real sets
// where those are found, else on the recordings that come with the repository,
// and check what they decode before they time it.
package benchmarks
