// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package contribreceiver tests a Collector of this repository with a peer to which it
// sends: the STEF receiver of the Collector's contrib repository. That receiver needs older
// libraries of the Collector than ours. So this is a module of its own, and our Collector
// is a process: the program that STEF_OTELCOL names. make test-contrib builds the program
// and runs the tests.
package contribreceiver
