// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package session decides how a sender works: which stream sends which batch, when
// frames end, how batches end, and when streams are replaced or closed. A Machine
// is a state machine without goroutines, locks, clocks or I/O. Its driver, package
// stefgrpc, passes events and the current time to it, and carries out the decisions
// that it returns. The stories in testdata test the Machine.
package session
