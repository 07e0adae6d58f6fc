// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package contribexporter tests a Collector of this repository with a peer that sends to
// it: the STEF exporter of the Collector's contrib repository. That exporter needs older
// libraries of the Collector than ours. So this is a module of its own, and our Collector
// is a process: the program that STEF_OTELCOL names. make test-contrib builds the program
// and runs the tests.
package contribexporter
