// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package session decides the life of a sender: which stream sends which batch,
// when frames end, how batches end, and when streams are replaced or cut. A
// Machine is plain state. It is told what happens and what time it is, and says
// what to do; it has no goroutines, locks, clocks or I/O. Package stefgrpc drives
// it, and its tests are stories in testdata.
package session
