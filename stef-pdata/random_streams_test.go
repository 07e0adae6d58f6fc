// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	descriptors "github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// TestRandomStreams writes random streams with the encoders of this package and of stefotlp, and
// reads them with the decoders of both. Exactly the items that the encoders do not report as omitted
// must come back. TestSmallBounds in internal/arch runs this test with STEF_STREAMS=N, the number of
// seeds, and with very small bounds of all tables: tables are then full in each stream, and many
// items exceed the limit of an item.
func TestRandomStreams(t *testing.T) {
	seeds, small := uint64(4), os.Getenv("STEF_STREAMS") != ""
	if small {
		n, err := strconv.ParseUint(os.Getenv("STEF_STREAMS"), 10, 32)
		require.NoError(t, err)
		seeds = n
	}
	t.Run("metrics", func(t *testing.T) { metricStreams.test(t, seeds, small) })
	t.Run("traces", func(t *testing.T) { spanStreams.test(t, seeds, small) })
	t.Run("logs", func(t *testing.T) { logStreams.test(t, seeds, small) })
}

// randomStreams has what TestRandomStreams needs to know of a signal.
type randomStreams[B any] struct {
	*descriptors.Descriptor[B]
	random  func(random) B
	omit    func(B, stefpdata.ItemErrors) // removes the items that were not written
	ordered func(want, got B) string
	items   func(...B) *canon.Items
	compact stef.WriterOption
	encoder func(io.Writer, ...stef.WriterOption) (messageEncoder, descriptors.Writer, error)
	decoder func(io.Reader) (messageDecoder, error)
}

type messageEncoder interface{ EncodeOTLP(b []byte) error }

type messageDecoder interface {
	AppendOTLP(dst []byte) ([]byte, error)
}

func (s *randomStreams[B]) test(t *testing.T, seeds uint64, small bool) {
	omitted := 0
	for seed := range seeds {
		omitted += s.series(t, newRandom(seed))
	}
	require.Equal(t, small, omitted > 0, "%d items were omitted", omitted)
}

// series writes and reads a few streams with the same encoder and decoder of pdata. It returns the
// number of omitted items.
func (s *randomStreams[B]) series(t *testing.T, r random) (omitted int) {
	options := []stef.WriterOption{stef.WithDictBytes(pick(r, 300, 2000, 1<<20)), stef.WithFrameBytes(pick(r, 500, 5000, 1<<20))}
	if r.one(2) {
		options = append(options, s.compact)
	}
	mode := pick(r, stefpdata.Sorted, stefpdata.Ordered)
	templates := pick(r, stefpdata.TemplatesOn, stefpdata.TemplatesOff, stefpdata.TemplatesAuto)
	var out bytes.Buffer
	e, err := s.NewEncoder(&out, []stefpdata.EncoderOption{stefpdata.WithMode(mode), stefpdata.WithTemplates(templates)}, options...)
	require.NoError(t, err)
	var d *descriptors.Decoder[B]
	for range 3 {
		var otlp bytes.Buffer
		messages, w, err := s.encoder(&otlp, options...)
		require.NoError(t, err)
		var want, wantOTLP []B
		for range 1 + r.IntN(9) {
			b := s.batch(t, r, want)
			message, err := s.Marshal(b)
			require.NoError(t, err)
			again, err := s.Unmarshal(message)
			require.NoError(t, err)
			n := s.omitFailed(t, b, e.Encode(b))
			m := s.omitFailed(t, again, messages.EncodeOTLP(message))
			// The parameters of templates count, too, and only package stefpdata writes templates.
			require.True(t, n == m || n > m && s.Name == "logs", "stefpdata omits %d items, stefotlp %d", n, m)
			want, wantOTLP, omitted = append(want, b), append(wantOTLP, again), omitted+n
			if r.one(3) {
				require.NoError(t, errors.Join(e.Writer.Flush(), w.Flush()))
			}
		}
		require.NoError(t, errors.Join(e.Writer.Close(), w.Close()))
		s.requireSame(t, mode, want, s.readAll(t, r, &d, out.Bytes()))
		s.requireSame(t, stefpdata.Ordered, wantOTLP, s.readAll(t, r, &d, otlp.Bytes()))
		out.Reset()
		require.NoError(t, e.Writer.Reset(&out))
		e.Reset()
	}
	return omitted
}

// batch returns a random batch, or a copy of an earlier batch of the stream.
func (s *randomStreams[B]) batch(t *testing.T, r random, earlier []B) B {
	b := s.New()
	if len(earlier) > 0 && r.one(4) {
		s.CopyTo(earlier[r.IntN(len(earlier))], b)
		return b
	}
	message, err := s.Marshal(s.random(r))
	require.NoError(t, err)
	b, err = s.Unmarshal(message) // drops what messages cannot have, such as the sign of a zero
	require.NoError(t, err)
	return b
}

// omitFailed removes the items from b that an encoder did not write, and returns their number.
func (s *randomStreams[B]) omitFailed(t *testing.T, b B, err error) int {
	if err == nil {
		return 0
	}
	var failed stefpdata.ItemErrors
	require.ErrorAs(t, err, &failed)
	n := s.Items(b)
	s.omit(b, failed)
	require.Equal(t, n-failed.Items(), s.Items(b))
	return failed.Items()
}

func (s *randomStreams[B]) requireSame(t *testing.T, mode stefpdata.Mode, want, got []B) {
	t.Helper()
	if mode == stefpdata.Ordered {
		require.Empty(t, s.ordered(one(s.Descriptor, want), one(s.Descriptor, got)))
		return
	}
	require.Empty(t, canon.Diff(s.items(want...), s.items(got...)))
}

// readAll returns the batches of a stream, on which all decoders must agree: a new decoder, a decoder
// with small limits, that of stefotlp, and d, a decoder of earlier streams that has just read a
// damaged copy of the stream.
func (s *randomStreams[B]) readAll(t *testing.T, r random, d **descriptors.Decoder[B], stream []byte) []B {
	t.Helper()
	got := decode(t, s.Descriptor, stream)
	s.requireSame(t, stefpdata.Ordered, got, decode(t, s.Descriptor, stream, stefpdata.WithMaxItems(1+r.IntN(9)), stefpdata.WithMaxBytes(1+r.IntN(3000))))
	messages, err := s.decoder(bytes.NewReader(stream))
	require.NoError(t, err)
	var parts [][]byte
	part, err := messages.AppendOTLP(nil)
	for ; err == nil; part, err = messages.AppendOTLP(nil) {
		parts = append(parts, part)
	}
	require.ErrorIs(t, err, io.EOF)
	s.requireSame(t, stefpdata.Ordered, got, unmarshal(t, s.Descriptor, parts))
	if *d == nil {
		*d, err = s.NewDecoder(bytes.NewReader(stream), nil)
		require.NoError(t, err)
	}
	bad := bytes.Clone(stream)
	bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
	if (*d).Reader.Reset(bytes.NewReader(bad)) == nil {
		(*d).Reset()
		for _, err = (*d).Decode(); err == nil || errors.As(err, new(stefpdata.RecordErrors)); {
			_, err = (*d).Decode()
		}
	}
	require.NoError(t, (*d).Reader.Reset(bytes.NewReader(stream)))
	(*d).Reset()
	var again []B
	b, err := (*d).Decode()
	for ; err == nil; b, err = (*d).Decode() {
		again = append(again, b)
	}
	require.ErrorIs(t, err, io.EOF)
	s.requireSame(t, stefpdata.Ordered, got, again)
	return got
}

// isOmitted reports whether errs have an item, or one of its containers.
func isOmitted(errs stefpdata.ItemErrors, resource, scope, metric, item int) bool {
	for _, e := range errs {
		if e.Resource == resource && (e.Scope == scope || e.Scope < 0) && (e.Metric == metric || e.Metric < 0) && (e.Item == item || e.Item < 0) {
			return true
		}
	}
	return false
}

func omitPoints(md pmetric.Metrics, errs stefpdata.ItemErrors) {
	for i, rm := range md.ResourceMetrics().All() {
		for j, sm := range rm.ScopeMetrics().All() {
			for k, m := range sm.Metrics().All() {
				removePoints(m, func(item int) bool { return isOmitted(errs, i, j, k, item) })
			}
		}
	}
}

func omitSpans(td ptrace.Traces, errs stefpdata.ItemErrors) {
	for i, rs := range td.ResourceSpans().All() {
		for j, ss := range rs.ScopeSpans().All() {
			item := -1
			ss.Spans().RemoveIf(func(ptrace.Span) bool { item++; return isOmitted(errs, i, j, -1, item) })
		}
	}
}

func omitRecords(ld plog.Logs, errs stefpdata.ItemErrors) {
	for i, rl := range ld.ResourceLogs().All() {
		for j, sl := range rl.ScopeLogs().All() {
			item := -1
			sl.LogRecords().RemoveIf(func(plog.LogRecord) bool { item++; return isOmitted(errs, i, j, -1, item) })
		}
	}
}

var metricStreams = &randomStreams[pmetric.Metrics]{
	Descriptor: descriptors.Metrics, random: random.metrics, omit: omitPoints,
	ordered: canon.DiffOrderedMetrics, items: sorted.Metrics, compact: otelstef.CompactMetrics(),
	encoder: func(dst io.Writer, o ...stef.WriterOption) (messageEncoder, descriptors.Writer, error) {
		w, err := otelstef.NewMetricsWriter(dst, o...)
		return stefotlp.NewMetricsEncoder(w), w, err
	},
	decoder: func(src io.Reader) (messageDecoder, error) {
		r, err := otelstef.NewMetricsReader(src)
		return stefotlp.NewMetricsDecoder(r), err
	},
}

var spanStreams = &randomStreams[ptrace.Traces]{
	Descriptor: descriptors.Traces, random: random.traces, omit: omitSpans,
	ordered: canon.DiffOrderedTraces, items: sorted.Traces, compact: otelstef.CompactSpans(),
	encoder: func(dst io.Writer, o ...stef.WriterOption) (messageEncoder, descriptors.Writer, error) {
		w, err := otelstef.NewSpansWriter(dst, o...)
		return stefotlp.NewTracesEncoder(w), w, err
	},
	decoder: func(src io.Reader) (messageDecoder, error) {
		r, err := otelstef.NewSpansReader(src)
		return stefotlp.NewTracesDecoder(r), err
	},
}

var logStreams = &randomStreams[plog.Logs]{
	Descriptor: descriptors.Logs, random: random.logs, omit: omitRecords,
	ordered: canon.DiffOrderedLogs, items: sorted.Logs, compact: otelstef.CompactLogs(),
	encoder: func(dst io.Writer, o ...stef.WriterOption) (messageEncoder, descriptors.Writer, error) {
		w, err := otelstef.NewLogsWriter(dst, o...)
		return stefotlp.NewLogsEncoder(w), w, err
	},
	decoder: func(src io.Reader) (messageDecoder, error) {
		r, err := otelstef.NewLogsReader(src)
		return stefotlp.NewLogsDecoder(r), err
	},
}
