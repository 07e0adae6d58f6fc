// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package otelstef has the OpenTelemetry records of STEF, Metrics, Spans and
// Logs, with their writers and readers. All files but this, generate.go and
// published.go are generated from stef-spec/otel.stef.
package otelstef
