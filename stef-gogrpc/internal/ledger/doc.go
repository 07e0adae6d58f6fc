// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledger tracks what each end of a stream knows about its records: Sender
// for the sending end, Receiver for the receiving end. Both are plain state,
// without goroutines, locks, clocks or I/O, so all rules of acknowledgements can
// be tested in isolation.
package ledger
