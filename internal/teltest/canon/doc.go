// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package canon compares telemetry in tests.
//
// Two pdata values may say the same and yet be grouped and ordered differently,
// as after a conversion that sorts. Items are what they say: each data point,
// span or log record with all that is true of it, from its resource down, as
// lines of text. Diff compares items as multisets:
//
//	require.Empty(t, canon.Diff(canon.Metrics(want), canon.Metrics(got)))
//
// Where order has to be kept, DiffOrderedMetrics and its like compare the
// messages byte by byte, after adjacent containers of equal content are merged
// and containers without items are dropped.
//
// Numbers are compared by their bits, attributes in their order unless
// Options.SortAttributes is set. Values given to this package are not changed,
// and must not change while their Items are in use.
package canon

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Options say what does not count as a difference. The zero Options are those
// of the functions of the package.
type Options struct {
	// SortAttributes compares attributes in the order of their keys; those of
	// equal keys stay in their order. It is about the attributes of resources,
	// scopes, metrics, points, spans and so on, not about maps within values.
	SortAttributes bool
}

// Metrics returns the data points of all mds together.
func Metrics(mds ...pmetric.Metrics) *Items { return Options{}.Metrics(mds...) }

// Traces returns the spans of all tds together.
func Traces(tds ...ptrace.Traces) *Items { return Options{}.Traces(tds...) }

// Logs returns the log records of all lds together.
func Logs(lds ...plog.Logs) *Items { return Options{}.Logs(lds...) }

// DiffOrderedMetrics is Options.DiffOrderedMetrics with zero Options.
func DiffOrderedMetrics(want, got pmetric.Metrics) string {
	return Options{}.DiffOrderedMetrics(want, got)
}

// DiffOrderedTraces is Options.DiffOrderedTraces with zero Options.
func DiffOrderedTraces(want, got ptrace.Traces) string { return Options{}.DiffOrderedTraces(want, got) }

// DiffOrderedLogs is Options.DiffOrderedLogs with zero Options.
func DiffOrderedLogs(want, got plog.Logs) string { return Options{}.DiffOrderedLogs(want, got) }
