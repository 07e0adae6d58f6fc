// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/lake"
)

var lakeSignals = map[otlpfile.Signal]lake.Signal{
	otlpfile.Metrics: lake.Metrics, otlpfile.Traces: lake.Traces, otlpfile.Logs: lake.Logs,
}

func toLake(b otlpfile.Batch) lake.Batch {
	return lake.Batch{Signal: lakeSignals[b.Signal], Metrics: b.Metrics, Traces: b.Traces, Logs: b.Logs}
}

// lakeRows converts batches to rows in memory.
type lakeRows struct{ builder *lake.Builder }

func newLakeRows(f lake.Format, signal otlpfile.Signal) (lakeRows, error) {
	s, ok := lakeSignals[signal]
	if !ok {
		return lakeRows{}, dataset.ErrSignal
	}
	b, err := lake.NewBuilder(f, s, nil)
	return lakeRows{b}, err
}

// Prepare converts a batch to Arrow record batches.
func (r lakeRows) Prepare(b otlpfile.Batch) (Native, error) {
	return r.builder.RecordBatches(toLake(b))
}

func writeRows(w *lake.Writer, n Native) error {
	for _, batch := range n.([]arrow.RecordBatch) {
		if err := w.WriteRecordBatch(batch); err != nil {
			return err
		}
	}
	return nil
}

func release(n Native) {
	for _, batch := range n.([]arrow.RecordBatch) {
		batch.Release()
	}
}

// collect moves items to the end of b.
func collect(b *otlpfile.Batch, items lake.Batch) {
	dataset.MoveAll(*b, otlpfile.Batch{Signal: b.Signal, Metrics: items.Metrics, Traces: items.Traces, Logs: items.Logs})
}

// Regroup returns the items of a batch in the order of the format STEF(Sorted), with
// equal resources, scopes and metrics merged.
func Regroup(b otlpfile.Batch) (otlpfile.Batch, error) {
	s, err := NewStream(STEF(Sorted), None, b.Signal)
	if err != nil {
		return b, err
	}
	defer s.Close()
	back, err := s.Trip(b)
	if err != nil {
		return b, fmt.Errorf("format: regrouping: %w", err)
	}
	return back, nil
}
