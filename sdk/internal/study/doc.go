// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package study measures the cost of telemetry in an application with several
// exporters: the time to start and end a span, the CPU time of the process, the bytes
// that it sends or writes, and the spans that are lost under overload.
//
// Each configuration runs in a process of its own, so that its CPU time contains
// nothing else. The receivers are in another process.
//
// docs/studies/sdk.md names the original study, which this package repeats in Go.
package study
