// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package contribreceiver tests a Collector of this repository that sends to the
// STEF receiver of the Collector's contrib repository, as a peer. That receiver
// needs older libraries of the Collector than ours, hence its own module, and our
// Collector is a process: the program that STEF_OTELCOL names. make test-contrib
// builds it and runs the tests.
package contribreceiver
