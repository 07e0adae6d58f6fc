// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package canon compares telemetry in tests.
//
// Two pdata values may have the same content but different grouping and order,
// for example after a conversion that sorts. Items represent the content: each
// item is a data point, span or log record as lines of text, with its metric,
// scope and resource. Diff compares items as multisets:
//
//	require.Empty(t, canon.Diff(canon.Metrics(want), canon.Metrics(got)))
//
// If order matters, use DiffOrderedMetrics, DiffOrderedTraces or
// DiffOrderedLogs. They merge adjacent containers of equal content, drop
// containers without items, and compare the messages byte by byte.
//
// Numbers are compared by their bits. Attributes are compared in their order, unless
// Options.SortAttributes is set. This package does not change the pdata values that it
// gets. Do not change these values while their Items are in use.
package canon

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Options say which differences to ignore. The functions that are not methods of
// Options use the zero Options.
type Options struct {
	// SortAttributes compares attributes in the order of their keys; attributes
	// with equal keys keep their order. It applies to the attributes of
	// resources, scopes, metrics, points, spans and so on, not to maps within
	// values.
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
