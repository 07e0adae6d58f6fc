// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

// compactForm is a root in the compact form.
type compactForm struct {
	*steftest.Root
	option stef.WriterOption
	// plain changes a record of the full schema to the record that a reader returns for it.
	plain func(*dynamic.Struct)
}

func compactMetrics(t testing.TB) compactForm {
	return compactForm{metricsRoot(t), otelstef.CompactMetrics(), nil}
}

func compactSpans(t testing.TB) compactForm {
	return compactForm{spansRoot(t), otelstef.CompactSpans(), nil}
}

func compactLogs(t testing.TB) compactForm {
	return compactForm{logsRoot(t), otelstef.CompactLogs(), observed}
}

func eachForm(t *testing.T, f func(t *testing.T, r compactForm)) {
	t.Run("metrics", func(t *testing.T) { f(t, compactMetrics(t)) })
	t.Run("spans", func(t *testing.T) { f(t, compactSpans(t)) })
	t.Run("logs", func(t *testing.T) { f(t, compactLogs(t)) })
}

// observed replaces the ObservedDelta of a record, if it is present, by ObservedTime.
func observed(rec *dynamic.Struct) {
	log := otelstef.NewLogs()
	root := logRoot
	steftest.Set(log, root, rec)
	if r := log.Record(); r.HasObservedDelta() {
		r.SetObservedTime(r.Time() + uint64(r.ObservedDelta()))
		r.SetObservedDelta(0)
		r.UnsetObservedDelta()
	}
	*rec = *steftest.Value(log, root, nil)
}

var logRoot *schema.Struct

func randomOptions(r *rand.Rand) (options []stef.WriterOption) {
	options = append(options, stef.WithCompression(stef.Compression(r.IntN(2))))
	if r.IntN(2) == 0 {
		options = append(options, stef.WithRestart(stef.FrameFlags(r.IntN(int(stef.RestartAll)+1))))
	}
	if r.IntN(2) == 0 {
		options = append(options, stef.WithFrameBytes(1+r.IntN(400)))
	}
	if r.IntN(2) == 0 {
		options = append(options, stef.WithDictBytes(1+r.IntN(4000)))
	}
	return options
}

// write returns a stream of records in the compact form. It flushes after random records,
// and checks that Write does not change a record.
func (c compactForm) write(t testing.TB, r *rand.Rand, recs []*dynamic.Struct, options ...stef.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := c.NewWriter(&out, append(slices.Clone(options), c.option)...)
	require.NoError(t, err)
	for i, rec := range recs {
		if i == 0 || rec != recs[i-1] || r.IntN(2) == 0 {
			steftest.Set(w.Record(), c.Schema, rec)
		}
		require.NoError(t, w.Write())
		require.Empty(t, steftest.Diff(c.Schema, rec, steftest.Value(w.Record(), c.Schema, nil)), "writing changes record %d", i)
		if r.IntN(8) == 0 {
			require.NoError(t, w.Flush())
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func (c compactForm) requireRead(t testing.TB, src io.Reader, want []*dynamic.Struct, note string) {
	t.Helper()
	d, err := c.NewReader(src)
	require.NoError(t, err, note)
	follower := steftest.NewFollower(c.Schema, nil)
	for i, rec := range want {
		require.True(t, d.Next(), "%s: record %d: %v", note, i, d.Err())
		value := steftest.Value(d.Record(), c.Schema, nil)
		require.Empty(t, steftest.Diff(c.Schema, rec, value), "%s: record %d", note, i)
		require.Empty(t, steftest.Diff(c.Schema, value, follower.Next(d.Record())), "%s: record %d by its marks", note, i)
	}
	require.False(t, d.Next(), note)
	require.NoError(t, d.Err(), note)
}

func (c compactForm) records(seed uint64, n int) []*dynamic.Struct {
	logRoot = c.Schema
	recs := steftest.Records(seed, c.Schema, n, steftest.Shape{})
	if c.plain != nil {
		for i, rec := range recs {
			if i == 0 || rec != recs[i-1] {
				c.plain(rec)
			}
		}
	}
	return recs
}

// A reader of the compact form returns the records that were written, with any framing,
// compression and restarts.
func TestCompactRoundTrip(t *testing.T) {
	eachForm(t, func(t *testing.T, c compactForm) {
		for seed := range seeds(120) {
			r := rand.New(rand.NewPCG(seed, 1))
			recs := c.records(seed, 1+r.IntN(60))
			c.requireRead(t, bytes.NewReader(c.write(t, r, recs, randomOptions(r)...)), recs, fmt.Sprint("seed ", seed))
		}
	})
}

// cut stores the bytes of each Write separately.
type cut [][]byte

func (c *cut) Write(b []byte) (int, error) {
	*c = append(*c, bytes.Clone(b))
	return len(b), nil
}

// A frame with all restart flags can be decoded without other frames, in the compact form, too.
func TestCompactSelfContained(t *testing.T) {
	eachForm(t, func(t *testing.T, c compactForm) {
		for seed := range seeds(40) {
			r := rand.New(rand.NewPCG(seed, 2))
			recs := c.records(seed, 30)
			var out cut
			w, err := c.NewWriter(&out, c.option, stef.WithRestart(stef.RestartAll), stef.WithCompression(stef.Compression(r.IntN(2))))
			require.NoError(t, err)
			ends := []int{0, 0}
			for i, rec := range recs {
				steftest.Set(w.Record(), c.Schema, rec)
				require.NoError(t, w.Write())
				if r.IntN(6) == 0 || i == len(recs)-1 {
					require.NoError(t, w.Flush())
					ends = append(ends, i+1)
				}
			}
			require.NoError(t, w.Close())
			require.Len(t, out, len(ends))
			head := slices.Concat(out[0], out[1])
			for i := 2; i < len(out); i++ {
				c.requireRead(t, bytes.NewReader(slices.Concat(head, out[i])), recs[ends[i-1]:ends[i]], fmt.Sprintf("seed %d, frame %d alone", seed, i-1))
			}
		}
	})
}

func TestCompactIsDeterministic(t *testing.T) {
	eachForm(t, func(t *testing.T, c compactForm) {
		for seed := range seeds(20) {
			recs := c.records(seed, 40)
			one := c.write(t, rand.New(rand.NewPCG(seed, 3)), recs)
			require.Equal(t, one, c.write(t, rand.New(rand.NewPCG(seed, 3)), recs))
		}
	})
}

// After Reset, a writer and a reader start with an empty state.
func TestCompactReset(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, otelstef.CompactMetrics())
	require.NoError(t, err)
	var first []byte
	var r *otelstef.MetricsReader
	for round := range 3 {
		w.Record().EditMetric().SetName("m")
		for i := range 10 {
			w.Record().Point().SetTimestamp(uint64(1000 + 10*i))
			w.Record().Point().Value().SetInt64(int64(i * i))
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Flush())
		if round == 0 {
			first = bytes.Clone(out.Bytes())
			r, err = otelstef.NewMetricsReader(bytes.NewReader(first))
			require.NoError(t, err)
		} else {
			require.Equal(t, first, out.Bytes())
			require.NoError(t, r.Reset(bytes.NewReader(first)))
		}
		for i := range 10 {
			require.True(t, r.Next())
			require.Equal(t, uint64(1000+10*i), r.Record().Point().Timestamp())
			require.Equal(t, int64(i*i), r.Record().Point().Value().Int64())
		}
		require.False(t, r.Next())
		require.NoError(t, r.Err())
		out.Reset()
		require.NoError(t, w.Reset(&out))
	}
}

// A reader finds the series of a metric by the address of the metric. No dictionary contains the initial
// metric of a record, so the reader itself must keep it in memory while it has series of this metric.
// Otherwise another metric could be allocated at the same address.
func TestCompactInitialContainer(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, otelstef.CompactMetrics())
	require.NoError(t, err)
	write := func(time uint64) {
		w.Record().Point().SetTimestamp(time)
		w.Record().Point().Value().SetInt64(int64(time * time))
		require.NoError(t, w.Write())
	}
	write(1000)
	const metrics = 200
	for i := range uint64(metrics) {
		w.Record().EditMetric().SetName(fmt.Sprint("m", i))
		write(5000 + 7*i)
	}
	require.NoError(t, w.Close())
	for range 20 {
		r, err := otelstef.NewMetricsReader(bytes.NewReader(out.Bytes()))
		require.NoError(t, err)
		require.True(t, r.Next())
		for i := range uint64(metrics) {
			if i < 10 {
				runtime.GC()
			}
			require.True(t, r.Next(), r.Err())
			require.Equal(t, 5000+7*i, r.Record().Point().Timestamp(), "metric %d", i)
		}
	}
}

// A reader of a damaged stream returns records, or an error with a location.
func TestCompactDamage(t *testing.T) {
	eachForm(t, func(t *testing.T, c compactForm) {
		for seed := range seeds(30) {
			r := rand.New(rand.NewPCG(seed, 5))
			stream := c.write(t, r, c.records(seed, 30))
			for range 40 {
				bad := bytes.Clone(stream)
				bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
				d, err := c.NewReader(bytes.NewReader(bad[:len(bad)-r.IntN(2)*r.IntN(len(bad))]))
				for err == nil && d.Next() {
					_ = d.Record()
				}
				if err == nil {
					err = d.Err()
				}
				if err != nil {
					requireTyped(t, err)
				}
			}
		}
	})
}

// TestCompactKeepsIDsOfOtherLengths: if an id of a span is missing or too short, the writer writes all
// three ids of the span, even if they did not change.
func TestCompactKeepsIDsOfOtherLengths(t *testing.T) {
	ids := [][3]string{
		{"0123456789abcdef", "spanid01", "spanid01"},
		{"", "spanid01", "spanid02"},
		{"", "spanid01", "spanid02"},
		{"0123456789abcdef", "spanid01", "spanid02"},
		{"0123456789abcdef", "", "spanid02"},
		{"short", "", "spanid02"},
	}
	var out bytes.Buffer
	w, err := otelstef.NewSpansWriter(&out, otelstef.CompactSpans())
	require.NoError(t, err)
	for _, x := range ids {
		span := w.Record().Span()
		span.SetTraceID([]byte(x[0]))
		span.SetSpanID([]byte(x[1]))
		span.SetParentSpanID([]byte(x[2]))
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	r, err := otelstef.NewSpansReader(&out)
	require.NoError(t, err)
	for i, x := range ids {
		require.True(t, r.Next(), r.Err())
		span := r.Record().Span()
		require.Equal(t, x, [3]string{string(span.TraceID()), string(span.SpanID()), string(span.ParentSpanID())}, "record %d", i)
	}
}
