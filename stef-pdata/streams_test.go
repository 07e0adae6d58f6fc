// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	descriptors "github.com/otelstef/stef/internal/signal"
)

// Functions on streams for the tests of all signals. B is the type of a batch.

func unmarshal[B any](tb testing.TB, d *descriptors.Descriptor[B], parts [][]byte) (batches []B) {
	tb.Helper()
	for _, part := range parts {
		b, err := d.Unmarshal(part)
		require.NoError(tb, err)
		batches = append(batches, b)
	}
	return batches
}

// one returns copies of all batches in one batch.
func one[B any](d *descriptors.Descriptor[B], batches []B) B {
	all := d.New()
	for _, b := range batches {
		copied := d.New()
		d.CopyTo(b, copied)
		d.MoveTo(copied, all)
	}
	return all
}

// encode writes a stream with a frame for each batch.
func encode[B any](tb testing.TB, d *descriptors.Descriptor[B], batches []B, mode stefpdata.Mode, options ...stef.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	e, err := d.NewEncoder(&out, []stefpdata.EncoderOption{stefpdata.WithMode(mode)}, options...)
	require.NoError(tb, err)
	for _, b := range batches {
		require.NoError(tb, e.Encode(b))
		require.NoError(tb, e.Writer.Flush())
	}
	require.NoError(tb, e.Writer.Close())
	return out.Bytes()
}

// decode reads a whole stream, in as many batches as Decode returns.
func decode[B any](tb testing.TB, d *descriptors.Descriptor[B], stream []byte, options ...stefpdata.DecoderOption) (batches []B) {
	tb.Helper()
	r, err := d.NewDecoder(bytes.NewReader(stream), options)
	require.NoError(tb, err)
	for {
		b, err := r.Decode()
		if errors.Is(err, io.EOF) {
			require.Zero(tb, d.Items(b))
			return batches
		}
		require.NoError(tb, err)
		batches = append(batches, b)
	}
}

// requireLeftOut decodes a stream of four records. OTLP cannot express the second and the third
// record, because of the given field. requireLeftOut checks their errors, and returns the items of
// the other two records.
func requireLeftOut[B any](tb testing.TB, d *descriptors.Descriptor[B], stream []byte, field string) B {
	tb.Helper()
	r, err := d.NewDecoder(bytes.NewReader(stream), nil)
	require.NoError(tb, err)
	b, err := r.Decode()
	var errs stefpdata.RecordErrors
	require.ErrorAs(tb, err, &errs)
	require.ErrorIs(tb, err, stefpdata.ErrRecord)
	require.Len(tb, errs, 1)
	require.Equal(tb, uint64(2), errs.Records())
	require.Equal(tb, uint64(2), errs[0].First)
	require.Equal(tb, uint64(3), errs[0].Last)
	require.Equal(tb, field, errs[0].Field)
	require.Contains(tb, err.Error(), "records 2 to 3: "+field)
	require.Equal(tb, 2, d.Items(b))
	_, err = r.Decode()
	require.ErrorIs(tb, err, io.EOF)
	return b
}

// requireRefused encodes a batch twice. The second time, caches of the encoder contain the items that
// it has written. Each time, the encoder refuses a number of items with the error want, and writes
// the other items. items is the number of refused items, left the number of the others.
func requireRefused[B any](tb testing.TB, d *descriptors.Descriptor[B], mode stefpdata.Mode, b B, items, left int, want stefpdata.ItemError) {
	tb.Helper()
	var out bytes.Buffer
	e, err := d.NewEncoder(&out, []stefpdata.EncoderOption{stefpdata.WithMode(mode)}, stef.WithCompression(stef.Zstd))
	require.NoError(tb, err)
	for range 2 {
		err = e.Encode(b)
		require.ErrorIs(tb, err, stef.ErrLimit)
		var errs stefpdata.ItemErrors
		require.ErrorAs(tb, err, &errs)
		require.Len(tb, errs, 1)
		require.Equal(tb, items, errs.Items())
		require.Equal(tb, want.Field, errs[0].Field)
		require.Equal(tb, []int{want.Resource, want.Scope, want.Metric, want.Item},
			[]int{errs[0].Resource, errs[0].Scope, errs[0].Metric, errs[0].Item})
		require.Contains(tb, err.Error(), want.Field[:min(len(want.Field), 70)], "a long path loses its middle")
		if want.Metric < 0 {
			require.Equal(tb, want.Item >= 0, strings.Contains(err.Error(), "resource 0, scope 0, item 1: "))
		}
	}
	require.NoError(tb, e.Writer.Close())
	written := 0
	for _, b := range decode(tb, d, out.Bytes()) {
		written += d.Items(b)
	}
	require.Equal(tb, 2*left, written)
}

// A decoder returns no items of a truncated frame. If a frame is damaged, it returns the items before
// the damage. It returns the items of earlier frames first, and the error last.
func TestBrokenStreams(t *testing.T) {
	testBrokenStream(t, descriptors.Metrics, recordedMetrics(t)[:3])
	testBrokenStream(t, descriptors.Traces, recordedTraces(t)[:3])
	testBrokenStream(t, descriptors.Logs, recordedLogs(t)[:3])
}

func testBrokenStream[B any](t *testing.T, d *descriptors.Descriptor[B], batches []B) {
	t.Run(d.Name, func(t *testing.T) {
		stream := encode(t, d, batches, stefpdata.Ordered)
		r, err := d.NewDecoder(bytes.NewReader(stream[:len(stream)-1]), nil)
		require.NoError(t, err)
		for _, want := range batches[:2] {
			b, err := r.Decode()
			require.NoError(t, err)
			require.Equal(t, d.Items(want), d.Items(b))
		}
		for range 2 {
			b, err := r.Decode()
			require.ErrorIs(t, err, stef.ErrCorrupt)
			require.Zero(t, d.Items(b))
		}

		largest := slices.MaxFunc(batches, func(a, b B) int { return d.Items(a) - d.Items(b) })
		one := encode(t, d, []B{largest}, stefpdata.Ordered)
		for at := len(one) - 1; ; at-- {
			require.Positive(t, at, "no damaged byte has items before it")
			damaged := bytes.Clone(one)
			damaged[at] ^= 0xff
			r, err := d.NewDecoder(bytes.NewReader(damaged), nil)
			if err != nil {
				continue
			}
			if b, err := r.Decode(); errors.Is(err, stef.ErrCorrupt) && d.Items(b) > 0 {
				return
			}
		}
	})
}

// If the writer fails, the encoder returns the error of the writer.
func TestFailingWriters(t *testing.T) {
	md, _ := threePoints()
	testFailingWriter(t, descriptors.Metrics, md)
	td, _ := threeSpans()
	testFailingWriter(t, descriptors.Traces, td)
	testFailingWriter(t, descriptors.Logs, threeRecords())
}

func testFailingWriter[B any](t *testing.T, d *descriptors.Descriptor[B], b B) {
	for _, mode := range modes {
		e, err := d.NewEncoder(io.Discard, []stefpdata.EncoderOption{stefpdata.WithMode(mode)})
		require.NoError(t, err)
		require.NoError(t, e.Writer.Close())
		require.ErrorIs(t, e.Encode(b), stef.ErrClosed, d.Name)
	}
}
