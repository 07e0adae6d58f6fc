// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package compact converts times, values and ids into differences from predictions,
// and back. The predictions are based on the earlier data of the stream.
//
// The package does not use records: package otelstef reads numbers from a record, passes them to
// Points, Spans or Logs, and writes the results into fields that only the compact form has. A
// reader converts these fields back with the same state machine. Each Put has a corresponding Take
// that updates the state in the same way, so that writer and reader always have equal states. The
// state depends only on the numbers of the records.
//
// A residual is the difference between a value and its prediction. A tick is a time of points: all
// series of a stream share the list of ticks. A home is the state that all series of one resource
// share. A habit predicts a field of the next item from recent items, such as the unit of
// differences (habitUnit) or the parent of a span with a given name (habits).
//
// State is bounded: if a stream exceeds a bound, writer and reader discard all state of that kind.
// They also discard it when the dictionaries of the stream restart.
//
// spec: #compact
package compact
