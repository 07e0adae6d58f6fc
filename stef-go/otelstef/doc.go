// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package otelstef has the OpenTelemetry records of STEF, Metrics, Spans and
// Logs, with their writers and readers. The files that end in .stef.go are
// generated from stef-spec/otel.stef.
//
// # Reading logs of others
//
// A writer chooses the form of two fields for each record. A text body is String or
// Template; LogBody.Text returns both. The observed time is ObservedTime, or Time plus
// ObservedDelta; LogRecord.Observed returns both. A reader that looks at one form only
// sees empty bodies and time 0.
//
// A stream does not name its root. A reader of another root than the stream's fails with
// ErrSchema or ErrCorrupt, or reads wrong records, so keep the kinds apart by file name,
// address or user data.
package otelstef
