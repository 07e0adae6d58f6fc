// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"io"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// metricGroups holds metrics as a program that works with records might hold them: one group for
// each series. A group has the values that the points of the series share, and the points.
type metricGroups struct{ groups []*metricGroup }

type metricGroup struct {
	metric   *otelstef.Metric
	resource *otelstef.Resource
	scope    *otelstef.Scope
	attrs    *otelstef.Attributes
	points   []*otelstef.Point
}

func prepareMetrics(stream []byte) (*metricGroups, error) {
	r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all := &metricGroups{}
	var g *metricGroup
	for r.Next() {
		rec := r.Record()
		if g == nil || rec.Modified()&^otelstef.MetricsFieldPoint != 0 {
			g = &metricGroup{metric: rec.Metric(), resource: rec.Resource(), scope: rec.Scope(), attrs: otelstef.NewAttributes()}
			g.attrs.CopyFrom(rec.Attributes())
			all.groups = append(all.groups, g)
		}
		p := otelstef.NewPoint()
		p.CopyFrom(rec.Point())
		g.points = append(g.points, p)
	}
	return all, r.Err()
}

func (all *metricGroups) write(w *otelstef.MetricsWriter) error {
	rec := w.Record()
	for _, g := range all.groups {
		rec.SetMetric(g.metric)
		rec.SetResource(g.resource)
		rec.SetScope(g.scope)
		rec.Attributes().CopyFrom(g.attrs)
		for _, p := range g.points {
			rec.Point().CopyFrom(p)
			if err := w.Write(); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepareRecords returns a function that copies all records of a stream.
func prepareRecords[R any, P interface {
	*R
	CopyFrom(*R)
}, In interface {
	Next() bool
	Record() *R
	Err() error
	Close()
}](newReader func(io.Reader, ...stef.ReaderOption) (In, error), newRecord func() P) func(stream []byte) ([]P, error) {
	return func(stream []byte) ([]P, error) {
		r, err := newReader(bytes.NewReader(stream))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		var records []P
		for r.Next() {
			rec := newRecord()
			rec.CopyFrom(r.Record())
			records = append(records, rec)
		}
		return records, r.Err()
	}
}

// writeSpans is timed, so it is not generic: generic code calls the methods of its type parameters
// indirectly, which is slower.
func writeSpans(records []*otelstef.Spans, w *otelstef.SpansWriter) error {
	for _, rec := range records {
		w.Record().CopyFrom(rec)
		if err := w.Write(); err != nil {
			return err
		}
	}
	return nil
}

// writeLogs does for log records what writeSpans does for spans.
func writeLogs(records []*otelstef.Logs, w *otelstef.LogsWriter) error {
	for _, rec := range records {
		w.Record().CopyFrom(rec)
		if err := w.Write(); err != nil {
			return err
		}
	}
	return nil
}
