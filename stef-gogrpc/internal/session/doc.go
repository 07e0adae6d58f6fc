// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package session decides how a sender works: which stream sends which batch, when
// frames end, how batches end, and when streams are replaced or closed. A Machine
// is plain state, without goroutines, locks, clocks or I/O. Its caller passes in
// events and the current time, and the Machine returns decisions. Package stefgrpc
// drives it. Its tests are stories in testdata.
package session
