// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package features determines which parts of OTLP a stream can carry in addition to the
// parts of the published schema. Encoders report the content that a stream cannot carry
// as losses.
package features

import "github.com/otelstef/stef/stef-go/otelstef"

// Set is the features that a stream carries.
type Set struct {
	EntityRefs    bool // Resource.EntityRefs
	Flags         bool // Point.Flags
	RawIDs        bool // ids of spans are bytes, not hexadecimal text as in the published schema
	DroppedEvents bool // Span.DroppedEventsCount
	DroppedLinks  bool // Span.DroppedLinksCount
	ObservedDelta bool // LogRecord.ObservedDelta, in the full form
	Templates     bool // LogBody.Template, with parameters
	References    bool // parameters that refer to fields: the compact form of logs
	// ValueReferences are references in attributes and structured bodies.
	ValueReferences bool
	// Formats are otelstef.ReferenceClock and ReferenceDouble: references to times and doubles
	// that also say how the time or double is formatted.
	Formats bool
}

// OfMetrics returns the features of a stream of metrics.
func OfMetrics(f otelstef.MetricsFields) Set {
	return Set{
		EntityRefs: f.Resource&otelstef.ResourceFieldEntityRefs != 0,
		Flags:      f.Point&otelstef.PointFieldFlags != 0,
	}
}

// OfSpans returns the features of a stream of spans. If the stream has a field of Span
// that the published schema lacks, its ids are bytes. Ids of the published schema are
// text.
//
// spec: #otlp-common
func OfSpans(f otelstef.SpansFields) Set {
	return Set{
		EntityRefs:    f.Resource&otelstef.ResourceFieldEntityRefs != 0,
		RawIDs:        f.Span&otelstef.SpanFieldDroppedEventsCount != 0,
		DroppedEvents: f.Span&otelstef.SpanFieldDroppedEventsCount != 0,
		DroppedLinks:  f.Span&otelstef.SpanFieldDroppedLinksCount != 0,
	}
}

// OfLogs returns the features of a stream of logs.
func OfLogs(f otelstef.LogsFields) Set {
	return Set{
		EntityRefs: f.Resource&otelstef.ResourceFieldEntityRefs != 0,
		// In the compact form, the record writer itself writes observed times as differences.
		ObservedDelta: f.LogRecord&otelstef.LogRecordFieldObservedDelta != 0 && !f.Compact(),
		Templates: f.LogBody >= otelstef.LogBodyTypeTemplate &&
			f.BodyTemplate&otelstef.BodyTemplateFieldParams != 0,
		// A parameter can refer to an attribute that is an array, so the stream must carry arrays.
		References:      f.Compact() && f.AnyValue >= otelstef.AnyValueTypeArray,
		ValueReferences: f.Refers() && f.LogBody >= otelstef.LogBodyTypeValue && f.BodyValue >= otelstef.BodyValueTypeMap,
		Formats:         f.Formats(),
	}
}
