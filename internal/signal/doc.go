// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package signal describes the signals that STEF carries, one descriptor each:
// Traces, Metrics and Logs. Code that works for every signal takes a
// *Descriptor[T], where T is the type of its batches, and names no signal itself.
//
// To add a signal, add its schema to otelstef, its mapping to stef-pdata, and a
// file with its descriptor here. Exporter and receiver then need one line each in
// the tables of their factories, because the Collector has one method per signal.
package signal
