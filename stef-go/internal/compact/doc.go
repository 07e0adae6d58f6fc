// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package compact turns times, values and ids into how they differ from what a
// stream has said before, and back.
//
// It knows no records: package otelstef takes numbers out of a record, gives them
// to Points, Spans or Logs, and writes what it gets into fields that only the
// compact form has. On the other end the same state machine turns the fields back.
// Each Put has a Take beside it, and both end in the same function that learns, so
// that both ends know the same at any time. All of it follows from the numbers
// alone.
//
// State is bounded: a stream that exceeds a bound forgets all of the kind, on both
// ends. It is forgotten, too, when the dictionaries of the stream restart.
//
// spec: #compact
package compact
