// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// maxItemElements is the maximum number of elements of lists and maps of an item. It is less than
// maxElements, because a reader reads an item together with other rows, which have up to
// batchBytes. It is a variable for tests.
var maxItemElements = 15_000_000

// A weight has the counts of an item that a reader limits. A writer compares them with the limits before
// it appends the item, because builders of Arrow cannot remove a row.
type weight struct {
	elements int  // elements of lists and maps, as columns.span counts them
	messages int  // messages of OTLP, as columns.checkOTLP counts them, or up to baseMessages more
	deep     bool // whether a value is nested deeper than maxValueDepth
}

// baseMessages is the maximum number of messages of an item without elements of lists and maps:
// of its resource, its scope, its metric and the buckets of its point.
const baseMessages = 10

func (w *weight) add(o weight) {
	w.elements += o.elements
	w.messages += o.messages
	w.deep = w.deep || o.deep
}

// attributes adds a map of attributes.
func (w *weight) attributes(m pcommon.Map) {
	w.elements += m.Len()
	w.pairs(m, 0)
}

// shared adds a map of attributes that a reader also compares with that of the row before.
func (w *weight) shared(m pcommon.Map) {
	w.attributes(m)
	w.elements += m.Len()
}

func (w *weight) pairs(m pcommon.Map, depth int) {
	w.messages += 2 * m.Len()
	for _, v := range m.All() {
		w.value(v, depth)
	}
}

// value adds the content of a value that is nested in depth arrays and maps.
func (w *weight) value(v pcommon.Value, depth int) {
	t := v.Type()
	if t != pcommon.ValueTypeSlice && t != pcommon.ValueTypeMap {
		return
	}
	if depth == maxValueDepth {
		w.deep = true
		return
	}
	w.messages++
	if t == pcommon.ValueTypeMap {
		w.pairs(v.Map(), depth+1)
		return
	}
	w.messages += v.Slice().Len()
	for _, e := range v.Slice().All() {
		w.value(e, depth+1)
	}
}

// list adds a list of n elements, which are messages of OTLP.
func (w *weight) list(n int) {
	w.elements += n
	w.messages += n
}

func (w *weight) exemplars(exemplars pmetric.ExemplarSlice) {
	w.list(exemplars.Len())
	for _, e := range exemplars.All() {
		w.attributes(e.FilteredAttributes())
	}
}

func weighNumber(w *weight, p pmetric.NumberDataPoint) {
	w.attributes(p.Attributes())
	w.exemplars(p.Exemplars())
}

func weighHistogram(w *weight, p pmetric.HistogramDataPoint) {
	w.attributes(p.Attributes())
	w.elements += p.BucketCounts().Len() + p.ExplicitBounds().Len()
	w.exemplars(p.Exemplars())
}

func weighExponential(w *weight, p pmetric.ExponentialHistogramDataPoint) {
	w.attributes(p.Attributes())
	w.elements += p.Positive().BucketCounts().Len() + p.Negative().BucketCounts().Len()
	w.exemplars(p.Exemplars())
}

func weighSummary(w *weight, p pmetric.SummaryDataPoint) {
	w.attributes(p.Attributes())
	w.list(p.QuantileValues().Len())
}

func weighSpan(w *weight, s ptrace.Span) {
	w.attributes(s.Attributes())
	w.list(s.Events().Len())
	for _, e := range s.Events().All() {
		w.attributes(e.Attributes())
	}
	w.list(s.Links().Len())
	for _, l := range s.Links().All() {
		w.attributes(l.Attributes())
	}
}

func weighLog(w *weight, lr plog.LogRecord) {
	w.attributes(lr.Attributes())
	w.value(lr.Body(), 0)
}

// refusal returns the error of an item that readers refuse, and nil for all other items.
func (w *weight) refusal(item uint64) error {
	// An item with only attributes reaches both limits at the same time.
	maxMessages := 2*maxItemElements + baseMessages
	switch {
	case w.elements > maxItemElements:
		return &limitReached{fmt.Sprintf("item %d has %d elements of lists and maps, at most %d are allowed", item, w.elements, maxItemElements)}
	case w.messages > maxMessages:
		return &limitReached{fmt.Sprintf("item %d has more than %d messages of OTLP, such as attributes and values", item, maxMessages)}
	case w.deep:
		return &limitReached{fmt.Sprintf("item %d has a value that is nested more than %d levels deep", item, maxValueDepth)}
	}
	return nil
}

// ItemErrors is the error of items that a Writer left out, because readers would refuse them. All
// other items were written.
type ItemErrors struct {
	// Items is the number of items that were left out.
	Items uint64
	// First is the error of the first of them.
	First error
}

func (e *ItemErrors) Error() string {
	if e.Items == 1 {
		return e.First.Error()
	}
	return fmt.Sprintf("%v (and %d more items)", e.First, e.Items-1)
}

// Unwrap returns the error of the first item.
func (e *ItemErrors) Unwrap() error { return e.First }
