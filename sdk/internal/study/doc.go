// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package study measures what telemetry costs an application: the time to start and
// end a span, the CPU time of the process, the bytes that leave it, and the spans
// that are lost under overload, with several exporters.
//
// Each configuration runs in a process of its own, so that its CPU time contains
// nothing else. The receivers are in another process.
package study
