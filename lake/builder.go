// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	// A record batch ends at this many rows or bytes.
	batchRows  = 1 << 13
	batchBytes = 4 << 20
)

// Builder makes record batches: the tables of this package in memory. Use it to pass rows to
// a program that processes Arrow data; to write files, use a [Writer]. It is not safe for
// use by several goroutines at once.
type Builder struct {
	signal Signal
	rows   *rows
	points *pointRows
	spans  *spanRows
	logs   *logRows
}

// NewBuilder returns a builder of the rows of a signal. For columns, see WriterOptions.Columns.
// Most text columns are dictionaries in batches for Arrow. All text columns are plain text in
// batches for Parquet.
func NewBuilder(f Format, s Signal, columns []string) (*Builder, error) {
	chosen := parseKeys(columns)
	schema, err := checkedSchema(s, f, chosen)
	if err != nil {
		return nil, err
	}
	return newBuilder(s, schema, chosen, false), nil
}

// checkedSchema is like schemaOf, but returns an error if the table already has a column with
// the name of a chosen column.
func checkedSchema(s Signal, f Format, chosen []chosenKey) (*arrow.Schema, error) {
	schema := schemaOf(s, f, chosen)
	known := map[string]bool{}
	for _, field := range schema.Fields() {
		if known[field.Name] {
			return nil, fmt.Errorf("lake: the table already has a column %q: remove it from the chosen columns", field.Name)
		}
		known[field.Name] = true
	}
	return schema, nil
}

// newBuilder returns a builder; see newRows for runs.
func newBuilder(s Signal, schema *arrow.Schema, chosen []chosenKey, runs bool) *Builder {
	b := &Builder{signal: s, rows: newRows(schema, chosen, runs)}
	switch s {
	case Metrics:
		b.points = newPointRows(b.rows)
	case Traces:
		b.spans = newSpanRows(b.rows)
	default:
		b.logs = newLogRows(b.rows)
	}
	return b
}

// Schema returns the schema of the record batches.
func (b *Builder) Schema() *arrow.Schema { return b.rows.schema }

// Release frees the memory of the builder, which cannot be used afterwards.
func (b *Builder) Release() { b.rows.release() }

// RecordBatches returns the rows of items, as batches of up to 8,192 rows or 4 MiB. The
// caller releases them. If readers refuse an item, RecordBatches returns ItemErrors, see
// [Writer.Write], and no batch.
func (b *Builder) RecordBatches(items Batch) (batches []arrow.RecordBatch, err error) {
	take := func() {
		if b.rows.n > 0 {
			batches = append(batches, b.rows.batch().rows)
		}
	}
	err = guard(func() error {
		err := b.add(items, func() error {
			if b.full() {
				take()
			}
			return nil
		})
		take()
		return err
	})
	if err != nil {
		for _, batch := range batches {
			batch.Release()
		}
		return nil, err
	}
	return batches, nil
}

func (b *Builder) full() bool { return b.rows.n >= batchRows || b.rows.bytes >= batchBytes }

// add appends items, and calls after once for each item that it appended. If it left out items, it
// returns ItemErrors.
func (b *Builder) add(items Batch, after func() error) error {
	if items.Signal != b.signal {
		return fmt.Errorf("%w: %s cannot be written to a table of %s", ErrSignal, items.Signal, b.signal)
	}
	b.rows.refused = nil
	if err := b.addItems(items, after); err != nil {
		return err
	}
	if b.rows.refused != nil {
		return b.rows.refused
	}
	return nil
}

func (b *Builder) addItems(items Batch, after func() error) error {
	switch items.Signal {
	case Metrics:
		return b.addMetrics(items.Metrics, after)
	case Traces:
		return b.addTraces(items.Traces, after)
	default:
		return b.addLogs(items.Logs, after)
	}
}

func (b *Builder) addMetrics(md pmetric.Metrics, after func() error) (err error) {
	p := b.points
	for _, rm := range md.ResourceMetrics().All() {
		p.setResource(rm.Resource(), rm.SchemaUrl())
		for _, sm := range rm.ScopeMetrics().All() {
			p.setScope(sm.Scope(), sm.SchemaUrl())
			for _, m := range sm.Metrics().All() {
				p.enter(m)
				switch m.Type() {
				case pmetric.MetricTypeGauge:
					err = addEach(p.rows, m.Gauge().DataPoints(), p.ofMetric, weighNumber, p.addNumber, after)
				case pmetric.MetricTypeSum:
					err = addEach(p.rows, m.Sum().DataPoints(), p.ofMetric, weighNumber, p.addNumber, after)
				case pmetric.MetricTypeHistogram:
					err = addEach(p.rows, m.Histogram().DataPoints(), p.ofMetric, weighHistogram, p.addHistogram, after)
				case pmetric.MetricTypeExponentialHistogram:
					err = addEach(p.rows, m.ExponentialHistogram().DataPoints(), p.ofMetric, weighExponential, p.addExponential, after)
				case pmetric.MetricTypeSummary:
					err = addEach(p.rows, m.Summary().DataPoints(), p.ofMetric, weighSummary, p.addSummary, after)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *Builder) addTraces(td ptrace.Traces, after func() error) error {
	for _, rs := range td.ResourceSpans().All() {
		b.spans.setResource(rs.Resource(), rs.SchemaUrl())
		for _, ss := range rs.ScopeSpans().All() {
			b.spans.setScope(ss.Scope(), ss.SchemaUrl())
			if err := addEach(b.rows, ss.Spans(), weight{}, weighSpan, b.spans.add, after); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Builder) addLogs(ld plog.Logs, after func() error) error {
	for _, rl := range ld.ResourceLogs().All() {
		b.logs.setResource(rl.Resource(), rl.SchemaUrl())
		for _, sl := range rl.ScopeLogs().All() {
			b.logs.setScope(sl.Scope(), sl.SchemaUrl())
			if err := addEach(b.rows, sl.LogRecords(), weight{}, weighLog, b.logs.add, after); err != nil {
				return err
			}
		}
	}
	return nil
}

// addEach calls add and after for each item, until one of these calls returns an error. It leaves out
// items that readers refuse, and counts them in r.refused. more is added to the weight of each item.
func addEach[T any, S interface {
	Len() int
	At(int) T
}](r *rows, items S, more weight, weigh func(*weight, T), add func(T) error, after func() error) error {
	more.add(r.ofResource)
	more.add(r.ofScope)
	for i := range items.Len() {
		item, w := items.At(i), more
		weigh(&w, item)
		r.offered++
		if err := w.refusal(r.offered); err != nil {
			if r.refused == nil {
				r.refused = &ItemErrors{First: err}
			}
			r.refused.Items++
			continue
		}
		if err := add(item); err != nil {
			return err
		}
		if err := after(); err != nil {
			return err
		}
	}
	return nil
}
