// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledger has what each end of a stream knows about its records: a Sender
// and a Receiver. They are plain state, without goroutines, locks, clocks or
// I/O, so everything about acknowledgements is tested on them alone.
package ledger
