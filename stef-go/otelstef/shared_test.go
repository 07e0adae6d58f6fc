// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"io"
	"math"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/steftest"
)

func resource(name string) *otelstef.Resource {
	r := otelstef.NewResource()
	r.Attributes().SetLen(1)
	r.Attributes().SetString(0, "service.name", name)
	return r
}

// TestSharedValuesAreFrozen: a change of a shared value, or of a value at any depth in it, panics and has no
// effect.
func TestSharedValuesAreFrozen(t *testing.T) {
	f := func(change func(r *otelstef.Resource)) {
		t.Helper()
		shared := resource("a")
		shared.EntityRefs().Append().IDKeys().Append("k")
		shared.Attributes().AppendKVList("map").AppendInt64("k", 1)
		rec, other := otelstef.NewMetrics(), otelstef.NewMetrics()
		rec.SetResource(shared)
		require.Same(t, shared, rec.Resource())
		other.CopyFrom(rec)
		require.Same(t, shared, other.Resource())
		require.NotPanics(t, func() { change(other.EditResource()) })
		require.NotSame(t, shared, other.Resource())
		require.False(t, shared.Equal(other.Resource()))
		before := otelstef.NewResource()
		before.CopyFrom(shared)
		refuses := func() {
			for range 2 {
				require.Panics(t, func() { change(shared) })
				require.True(t, before.Equal(shared))
			}
		}
		refuses()
		few := otelstef.MetricsSchema()
		few[3] = 4 // AnyValue without lists and maps
		for _, older := range []stef.WriterOption{otelstef.PublishedMetrics(), stef.WithSchema(few)} {
			w, err := otelstef.NewMetricsWriter(io.Discard, older)
			require.NoError(t, err)
			w.Record().SetResource(shared)
			require.NoError(t, w.Write())
			refuses()
		}
	}
	f(func(r *otelstef.Resource) { r.SetSchemaURL(r.SchemaURL() + "x") })
	f(func(r *otelstef.Resource) { r.Attributes().SetLen(r.Attributes().Len() + 1) })
	f(func(r *otelstef.Resource) { r.Attributes().SetKey(0, r.Attributes().Key(0)+"x") })
	f(func(r *otelstef.Resource) { r.Attributes().Value(0).SetInt64(r.Attributes().Value(0).Int64() + 5) })
	f(func(r *otelstef.Resource) { r.Attributes().Get("map").KVList().Append("x") })
	f(func(r *otelstef.Resource) { r.EntityRefs().Append() })
	f(func(r *otelstef.Resource) { r.EntityRefs().At(0).SetType(r.EntityRefs().At(0).Type() + "x") })
	f(func(r *otelstef.Resource) { r.EntityRefs().At(0).IDKeys().Append("x") })

	// The values in the record of a reader are shared, too.
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	w.Record().SetResource(resource("b"))
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	r, err := otelstef.NewMetricsReader(&out)
	require.NoError(t, err)
	require.True(t, r.Next())
	require.Panics(t, func() { r.Record().Resource().SetSchemaURL("x") })
}

// TestSetSharedMarks checks which calls mark the resource of a record as changed.
func TestSetSharedMarks(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	rec := w.Record()
	write := func(marked bool) {
		t.Helper()
		require.Equal(t, marked, rec.Modified()&otelstef.MetricsFieldResource != 0)
		require.NoError(t, w.Write())
		require.Zero(t, rec.Modified())
	}
	a, b := resource("a"), resource("b")
	write(false)
	rec.SetResource(a)
	write(true)
	write(false)
	rec.SetResource(a) // the present value
	write(false)
	rec.SetResource(b) // changed and changed back
	rec.SetResource(a)
	write(false)
	rec.EditResource() // edited, and nothing changed
	write(false)
	rec.EditResource().SetSchemaURL("x")
	write(true)
	rec.SetResource(b)
	write(true)
	rec.EditResource().SetSchemaURL("y")
	rec.SetResource(b)
	write(false)
	rec.SetResource(resource("b")) // equal, but another value
	write(true)
	require.NoError(t, w.Close())

	var names []string
	r, err := otelstef.NewMetricsReader(&out)
	require.NoError(t, err)
	for r.Next() {
		attrs := r.Record().Resource().Attributes()
		name := ""
		if attrs.Len() > 0 {
			name = attrs.Value(0).Str()
		}
		names = append(names, name+r.Record().Resource().SchemaURL())
	}
	require.NoError(t, r.Err())
	require.Equal(t, []string{"", "a", "a", "a", "a", "a", "ax", "b", "b", "b"}, names)
}

// TestSharedBySeveralWriters: several writers take turns, and their records share the same values.
func TestSharedBySeveralWriters(t *testing.T) {
	values := []*otelstef.Resource{resource("a"), resource("b"), resource("a")}
	const writers = 3
	var outs [writers]bytes.Buffer
	var ends [writers]*otelstef.MetricsWriter
	var want [writers][]string
	for i := range ends {
		var err error
		ends[i], err = otelstef.NewMetricsWriter(&outs[i])
		require.NoError(t, err)
	}
	for i := range 60 {
		w := i * i % 7 % writers
		v := i * 5 % 11 % len(values)
		ends[w].Record().SetResource(values[v])
		require.NoError(t, ends[w].Write())
		want[w] = append(want[w], []string{"a", "b", "a"}[v])
		if i%10 == 0 {
			require.NoError(t, ends[w].Flush())
		}
	}
	for i := range ends {
		require.NoError(t, ends[i].Close())
		size := outs[i].Len()
		r, err := otelstef.NewMetricsReader(&outs[i])
		require.NoError(t, err)
		var names []string
		seen := map[*otelstef.Resource]bool{}
		for r.Next() {
			names = append(names, r.Record().Resource().Attributes().Value(0).Str())
			seen[r.Record().Resource()] = true
		}
		require.NoError(t, r.Err())
		require.Equal(t, want[i], names)
		require.Less(t, len(seen), 3, "equal values are one entry")
		require.Less(t, size, 200+10*len(names))
	}
}

// TestPartOfAnotherRecord sets a value that is a part of another record. The setter copies the value, so
// later changes of the other record have no effect.
func TestPartOfAnotherRecord(t *testing.T) {
	other, rec := otelstef.NewMetrics(), otelstef.NewMetrics()
	other.EditScope().SetName("one")
	rec.SetScope(other.Scope())
	require.NotSame(t, other.Scope(), rec.Scope())
	other.Scope().SetName("two")
	require.Equal(t, "one", rec.Scope().Name())
	require.Equal(t, "two", other.Scope().Name())
}

// TestPassOn copies the records of a stream into another stream, as a gateway
// does. The copies share the dictionary structs of the records.
func TestPassOn(t *testing.T) {
	for seed := range uint64(30) {
		root := metricsRoot(t)
		recs := steftest.Records(seed, root.Schema, 30, steftest.Shape{})
		stream, err := root.Write(recs)
		require.NoError(t, err)
		r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
		require.NoError(t, err)
		var out bytes.Buffer
		w, err := otelstef.NewMetricsWriter(&out)
		require.NoError(t, err)
		var set uint64
		for r.Next() {
			w.Record().CopyFrom(r.Record())
			if set |= r.Record().Modified(); set&otelstef.MetricsFieldMetric != 0 {
				require.Same(t, r.Record().Metric(), w.Record().Metric())
			}
			require.True(t, w.Record().Equal(r.Record()))
			require.NoError(t, w.Write())
		}
		require.NoError(t, r.Err())
		require.NoError(t, w.Close())
		have, err := root.Read(&out)
		require.NoError(t, err)
		require.Empty(t, steftest.DiffAll(root.Schema, recs, have), "seed %d", seed)
	}
}

// TestModified changes the record of a writer between two calls of Write. It checks which fields Modified
// reports, for this record and for the record of a reader.
func TestModified(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	type marks struct{ root, point, histogram uint64 }
	of := func(rec *otelstef.Metrics) (m marks) {
		m.root = rec.Modified()
		if m.root&otelstef.MetricsFieldPoint != 0 {
			m.point = rec.Point().Modified()
		}
		if h := rec.Point().Value().Histogram(); m.point&otelstef.PointFieldValue != 0 && h != nil {
			m.histogram = h.Modified()
		}
		return m
	}
	var want []marks
	step := func(change func(rec *otelstef.Metrics), m marks) {
		t.Helper()
		change(w.Record())
		require.Equal(t, m, of(w.Record()), "record %d", len(want)+1)
		want = append(want, m)
		require.NoError(t, w.Write())
		require.Equal(t, marks{}, of(w.Record()))
	}
	const (
		point, attributes = otelstef.MetricsFieldPoint, otelstef.MetricsFieldAttributes
		timestamp, value  = otelstef.PointFieldTimestamp, otelstef.PointFieldValue
		exemplars         = otelstef.PointFieldExemplars
		count, sum        = otelstef.HistogramValueFieldCount, otelstef.HistogramValueFieldSum
	)
	step(func(rec *otelstef.Metrics) {}, marks{})
	step(func(rec *otelstef.Metrics) { rec.Point().SetTimestamp(1) }, marks{point, timestamp, 0})
	step(func(rec *otelstef.Metrics) { rec.Point().SetTimestamp(1) }, marks{})
	step(func(rec *otelstef.Metrics) { fillWide(rec.Attributes(), 3) }, marks{attributes, 0, 0})
	step(func(rec *otelstef.Metrics) { fillWide(rec.Attributes(), 3) }, marks{})
	step(func(rec *otelstef.Metrics) { rec.Attributes().Value(1).SetInt64(9) }, marks{attributes, 0, 0})
	step(func(rec *otelstef.Metrics) { rec.Point().Value().SetHistogram().SetCount(1) }, marks{point, value, count})
	step(func(rec *otelstef.Metrics) { rec.Point().Value().SetHistogram().SetSum(1) }, marks{point, value, sum})
	step(func(rec *otelstef.Metrics) { rec.Point().Value().Histogram().UnsetSum() }, marks{point, value, sum})
	step(func(rec *otelstef.Metrics) { rec.Point().Value().SetType(otelstef.PointValueTypeHistogram) }, marks{})
	step(func(rec *otelstef.Metrics) { rec.Point().Value().SetInt64(0) }, marks{point, value, 0})
	step(func(rec *otelstef.Metrics) { rec.Point().Value().SetFloat64(0) }, marks{point, value, 0})
	step(func(rec *otelstef.Metrics) { rec.Point().Exemplars().SetLen(2) }, marks{point, exemplars, 0})
	step(func(rec *otelstef.Metrics) { rec.Point().Exemplars().At(1).SetTimestamp(3) }, marks{point, exemplars, 0})
	step(func(rec *otelstef.Metrics) { rec.CopyFrom(rec) }, marks{})
	require.NoError(t, w.Close())

	r, err := otelstef.NewMetricsReader(&out)
	require.NoError(t, err)
	for i, m := range want {
		require.True(t, r.Next(), "%v", r.Err())
		require.Equal(t, m, of(r.Record()), "record %d", i+1)
	}
}

// TestFloatsByTheirBits checks that setters compare the bits of floats: 0 and -0 differ, and a
// NaN equals a NaN with the same bits.
func TestFloatsByTheirBits(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	v := w.Record().Point().Value()
	var want []uint64
	f := func(x float64, marked bool) {
		t.Helper()
		v.SetFloat64(x)
		require.Equal(t, marked, w.Record().Modified() != 0)
		require.NoError(t, w.Write())
		want = append(want, math.Float64bits(x))
	}
	f(0, true)
	f(0, false)
	f(math.Copysign(0, -1), true)
	f(math.Copysign(0, -1), false)
	f(math.NaN(), true)
	f(math.NaN(), false)
	f(math.Float64frombits(0x7ff8000000000002), true)
	f(math.Float64frombits(0xfff8000000000002), true)
	f(0, true)
	require.NoError(t, w.Close())
	r, err := otelstef.NewMetricsReader(&out)
	require.NoError(t, err)
	var have []uint64
	for r.Next() {
		have = append(have, math.Float64bits(r.Record().Point().Value().Float64()))
	}
	require.Equal(t, want, have)
}

// Writers on different goroutines must not share a value. The race detector reports programs in which they
// do: this test runs itself as such a program, with the race detector, and expects a report.
func TestSharedAcrossGoroutines(t *testing.T) {
	if os.Getenv("STEF_RACE_CHILD") != "" {
		r := otelstef.NewResource()
		r.Attributes().AppendString("service.name", "frontend")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				w, err := otelstef.NewMetricsWriter(io.Discard)
				if err != nil {
					panic(err)
				}
				for range 100 {
					w.Record().SetResource(r)
					_ = w.Write()
					w.Record().SetResource(otelstef.NewResource())
					_ = w.Write()
				}
			})
		}
		wg.Wait()
		return
	}
	if !raceEnabled {
		t.Log("not under the race detector: run with -race")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSharedAcrossGoroutines$")
	cmd.Env = append(os.Environ(), "STEF_RACE_CHILD=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "DATA RACE")
}

// A program can call the setters of Metric in the record of a writer until the metric is shared. After that
// the setters panic. EditMetric returns a metric that can be changed.
func TestSettersWithoutEdit(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	want := []string{"a", "b", "a", "c"}
	for i, name := range want {
		w.Record().Metric().SetName(name)
		require.NoError(t, w.Write())
		if i == 2 {
			otelstef.NewMetrics().CopyFrom(w.Record()) // shares the metric
		}
	}
	require.NoError(t, w.Close())
	r, err := otelstef.NewMetricsReader(&out)
	require.NoError(t, err)
	for _, name := range want {
		require.True(t, r.Next())
		require.Equal(t, name, r.Record().Metric().Name())
	}

	share := map[string]func(*otelstef.Metrics){
		"SetMetric":              func(rec *otelstef.Metrics) { rec.SetMetric(otelstef.NewMetric()) },
		"CopyFrom of a reader's": func(rec *otelstef.Metrics) { rec.CopyFrom(r.Record()) },
	}
	for name, share := range share {
		rec := w.Record()
		share(rec)
		require.Panics(t, func() { rec.Metric().SetName("d") }, name)
		rec.EditMetric().SetName("d")
		require.NotPanics(t, func() { rec.Metric().SetName("e") }, name)
	}
}
