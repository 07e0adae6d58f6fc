// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

// Tags of the fields of OTLP: the number of the field and its wire type.

// Tags of the containers of all signals. ResourceX stands for ResourceMetrics, ResourceSpans
// and ResourceLogs, and ScopeX for ScopeMetrics, ScopeSpans and ScopeLogs.
const (
	tagResources = 1<<3 | wireBytes // in the message of a signal
	tagScopes    = 2<<3 | wireBytes // in a ResourceX
	tagItems     = 2<<3 | wireBytes // in a ScopeX
	tagContainer = 1<<3 | wireBytes // the Resource in a ResourceX, the InstrumentationScope in a ScopeX
	tagSchemaURL = 3<<3 | wireBytes // in a ResourceX or ScopeX

	tagOldScopes = 1000<<3 | wireBytes // in a ResourceX of an old sender
)

// The tags of the choices of an AnyValue.
const (
	tagString = 1<<3 | wireBytes
	tagBool   = 2<<3 | wireVarint
	tagInt    = 3<<3 | wireVarint
	tagDouble = 4<<3 | wireFixed64
	tagArray  = 5<<3 | wireBytes
	tagKVList = 6<<3 | wireBytes
	tagBytes  = 7<<3 | wireBytes

	tagStrindex = 8<<3 | wireVarint
)

// Tags of messages that hold values.
const (
	tagKey    = 1<<3 | wireBytes // KeyValue
	tagValue  = 2<<3 | wireBytes
	tagValues = 1<<3 | wireBytes // ArrayValue, KeyValueList

	tagKeyStrindex = 3<<3 | wireVarint
)

// The tags of the data and metadata of a Metric, and of the fields of its data.
const (
	tagGauge       = 5<<3 | wireBytes
	tagSum         = 7<<3 | wireBytes
	tagHistogram   = 9<<3 | wireBytes
	tagExponential = 10<<3 | wireBytes
	tagSummary     = 11<<3 | wireBytes
	tagMetadata    = 12<<3 | wireBytes

	tagPoint       = 1<<3 | wireBytes  // in the data of all types
	tagTemporality = 2<<3 | wireVarint // in sums and histograms
	tagMonotonic   = 3<<3 | wireVarint // in sums
)

// Tags that all points have in common.
const (
	tagStart = 2<<3 | wireFixed64
	tagTime  = 3<<3 | wireFixed64
)

// The tags of Resource.
const (
	tagResourceAttributes        = 1<<3 | wireBytes
	tagResourceDroppedAttributes = 2<<3 | wireVarint
	tagResourceEntityRef         = 3<<3 | wireBytes
)

// The tags of EntityRef.
const (
	tagEntityRefSchemaURL      = 1<<3 | wireBytes
	tagEntityRefType           = 2<<3 | wireBytes
	tagEntityRefIDKey          = 3<<3 | wireBytes
	tagEntityRefDescriptionKey = 4<<3 | wireBytes
)

// The tags of InstrumentationScope.
const (
	tagScopeName              = 1<<3 | wireBytes
	tagScopeVersion           = 2<<3 | wireBytes
	tagScopeAttributes        = 3<<3 | wireBytes
	tagScopeDroppedAttributes = 4<<3 | wireVarint
)

// The tags of the texts of a Metric.
const (
	tagMetricName        = 1<<3 | wireBytes
	tagMetricDescription = 2<<3 | wireBytes
	tagMetricUnit        = 3<<3 | wireBytes
)

// The tags of NumberDataPoint.
const (
	tagNumberDouble     = 4<<3 | wireFixed64
	tagNumberExemplar   = 5<<3 | wireBytes
	tagNumberInt        = 6<<3 | wireFixed64
	tagNumberAttributes = 7<<3 | wireBytes
	tagNumberFlags      = 8<<3 | wireVarint
)

// The tags of HistogramDataPoint.
const (
	tagHistogramCount        = 4<<3 | wireFixed64
	tagHistogramSum          = 5<<3 | wireFixed64
	tagHistogramBucketCounts = 6<<3 | wireBytes
	tagHistogramBucketCount  = 6<<3 | wireFixed64 // not packed
	tagHistogramBounds       = 7<<3 | wireBytes
	tagHistogramBound        = 7<<3 | wireFixed64 // not packed
	tagHistogramExemplar     = 8<<3 | wireBytes
	tagHistogramAttributes   = 9<<3 | wireBytes
	tagHistogramFlags        = 10<<3 | wireVarint
	tagHistogramMin          = 11<<3 | wireFixed64
	tagHistogramMax          = 12<<3 | wireFixed64
)

// The tags of ExponentialHistogramDataPoint.
const (
	tagExponentialAttributes    = 1<<3 | wireBytes
	tagExponentialCount         = 4<<3 | wireFixed64
	tagExponentialSum           = 5<<3 | wireFixed64
	tagExponentialScale         = 6<<3 | wireVarint
	tagExponentialZeroCount     = 7<<3 | wireFixed64
	tagExponentialPositive      = 8<<3 | wireBytes
	tagExponentialNegative      = 9<<3 | wireBytes
	tagExponentialFlags         = 10<<3 | wireVarint
	tagExponentialExemplar      = 11<<3 | wireBytes
	tagExponentialMin           = 12<<3 | wireFixed64
	tagExponentialMax           = 13<<3 | wireFixed64
	tagExponentialZeroThreshold = 14<<3 | wireFixed64
)

// The tags of Buckets.
const (
	tagBucketsOffset = 1<<3 | wireVarint
	tagBucketsCounts = 2<<3 | wireBytes
	tagBucketsCount  = 2<<3 | wireVarint // not packed
)

// The tags of SummaryDataPoint.
const (
	tagSummaryCount      = 4<<3 | wireFixed64
	tagSummarySum        = 5<<3 | wireFixed64
	tagSummaryQuantile   = 6<<3 | wireBytes
	tagSummaryAttributes = 7<<3 | wireBytes
	tagSummaryFlags      = 8<<3 | wireVarint
)

// The tags of ValueAtQuantile.
const (
	tagQuantileQuantile = 1<<3 | wireFixed64
	tagQuantileValue    = 2<<3 | wireFixed64
)

// The tags of Exemplar.
const (
	tagExemplarTime       = 2<<3 | wireFixed64
	tagExemplarDouble     = 3<<3 | wireFixed64
	tagExemplarSpanID     = 4<<3 | wireBytes
	tagExemplarTraceID    = 5<<3 | wireBytes
	tagExemplarInt        = 6<<3 | wireFixed64
	tagExemplarAttributes = 7<<3 | wireBytes
)

// The tags of LogRecord.
const (
	tagRecordTime              = 1<<3 | wireFixed64
	tagRecordSeverity          = 2<<3 | wireVarint
	tagRecordSeverityText      = 3<<3 | wireBytes
	tagRecordBody              = 5<<3 | wireBytes
	tagRecordAttributes        = 6<<3 | wireBytes
	tagRecordDroppedAttributes = 7<<3 | wireVarint
	tagRecordFlags             = 8<<3 | wireFixed32
	tagRecordTraceID           = 9<<3 | wireBytes
	tagRecordSpanID            = 10<<3 | wireBytes
	tagRecordObservedTime      = 11<<3 | wireFixed64
	tagRecordEventName         = 12<<3 | wireBytes
)

// The tags of Span.
const (
	tagSpanTraceID           = 1<<3 | wireBytes
	tagSpanSpanID            = 2<<3 | wireBytes
	tagSpanTraceState        = 3<<3 | wireBytes
	tagSpanParentSpanID      = 4<<3 | wireBytes
	tagSpanName              = 5<<3 | wireBytes
	tagSpanKind              = 6<<3 | wireVarint
	tagSpanStartTime         = 7<<3 | wireFixed64
	tagSpanEndTime           = 8<<3 | wireFixed64
	tagSpanAttributes        = 9<<3 | wireBytes
	tagSpanDroppedAttributes = 10<<3 | wireVarint
	tagSpanEvent             = 11<<3 | wireBytes
	tagSpanDroppedEvents     = 12<<3 | wireVarint
	tagSpanLink              = 13<<3 | wireBytes
	tagSpanDroppedLinks      = 14<<3 | wireVarint
	tagSpanStatus            = 15<<3 | wireBytes
)

// The tags of Event.
const (
	tagEventTime              = 1<<3 | wireFixed64
	tagEventName              = 2<<3 | wireBytes
	tagEventAttributes        = 3<<3 | wireBytes
	tagEventDroppedAttributes = 4<<3 | wireVarint
)

// The tags of Link.
const (
	tagLinkTraceID           = 1<<3 | wireBytes
	tagLinkSpanID            = 2<<3 | wireBytes
	tagLinkTraceState        = 3<<3 | wireBytes
	tagLinkAttributes        = 4<<3 | wireBytes
	tagLinkDroppedAttributes = 5<<3 | wireVarint
	tagLinkFlags             = 6<<3 | wireFixed32
)

// The tags of Status.
const (
	tagStatusMessage = 2<<3 | wireBytes
	tagStatusCode    = 3<<3 | wireVarint
)

// spanFlagsTag is the tag of the flags of a span as it is on the wire: two bytes, the
// first in the low bits. All other tags have one byte.
const spanFlagsTag = (16<<3|wireFixed32)&0x7f | 0x80 | 1<<8
