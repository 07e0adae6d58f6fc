// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	stef "github.com/otelstef/stef/stef-go"
)

// PublishedMetrics makes a writer of metrics write in the published schema, that of
// the reference implementation at v0.1.2, which every reader of STEF metrics
// reads. It leaves out the flags of points and entity references.
func PublishedMetrics() stef.WriterOption { return stef.WithSchema(MetricsBaseSchema()) }

// PublishedSpans is PublishedMetrics for spans. It leaves out dropped event
// and link counts and entity references.
func PublishedSpans() stef.WriterOption { return stef.WithSchema(SpansBaseSchema()) }
