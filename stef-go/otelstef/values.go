// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

// The values of SpanStatus.Code are those of OTLP.
const (
	StatusCodeUnset uint64 = 0
	StatusCodeOK    uint64 = 1
	StatusCodeError uint64 = 2
)

// The values of LogRecord.SeverityNumber are those of OTLP. Each range of four numbers is one
// level, such as DEBUG; a greater number is more severe.
const (
	SeverityUnspecified uint64 = iota
	SeverityTrace
	SeverityTrace2
	SeverityTrace3
	SeverityTrace4
	SeverityDebug
	SeverityDebug2
	SeverityDebug3
	SeverityDebug4
	SeverityInfo
	SeverityInfo2
	SeverityInfo3
	SeverityInfo4
	SeverityWarn
	SeverityWarn2
	SeverityWarn3
	SeverityWarn4
	SeverityError
	SeverityError2
	SeverityError3
	SeverityError4
	SeverityFatal
	SeverityFatal2
	SeverityFatal3
	SeverityFatal4
)
