// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package netfault is a network with faults on command, for tests and benchmarks.
// Its connections have a round trip of a chosen length. Its methods cut, refuse,
// stall, delay, slow, half-close and kill connections, and repeat bytes, while the
// connections are in use.
//
// There are two ways to use it, both with the same [Link] and the same
// [Faults]:
//
//   - [NewMemory]: listeners and dialers inside the process, without ports. It
//     works with testing/synctest, where all waiting is done on the fake clock.
//   - [NewProxy]: a TCP proxy in front of an address, for peers in other
//     processes.
//
// # A link is a delay line
//
// Every direction of every connection is a line. A byte written at time t is readable at t +
// RoundTrip/2. The writer does not wait for this: only the window bounds the bytes in flight.
// So latency reduces throughput only where the protocol above waits for answers. On a link with a
// rate, bytes also wait before they leave. While a direction is stalled, its gate is closed.
//
//	Write ─▶ [ leaves at the rate ][ in flight for RoundTrip/2 ][ gate ] ─▶ Read
//	         └──────────────── at most Window bytes ──────────┘
//
// A timer of the runtime may be a millisecond late for a sleep of ten microseconds. Therefore,
// on Linux, a line uses a timer of the kernel, which is late by ten to two hundred microseconds
// (TestRoundTripIsPrecise). Waits that are too short for any timer are busy-waits.
//
// # Faults are repeatable
//
// A connection that is not cut never loses or reorders bytes, and only Repeat repeats bytes: this
// is TCP, not IP. Random values, such as the jitter and the byte at which a connection is cut,
// depend only on Link.Seed and the number of the connection. [Random] returns whole faults as
// [Step] values that can be printed, so that a test can log its faults.
package netfault
