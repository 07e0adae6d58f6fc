// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	descriptors "github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// paths contains functions that convert OTLP bytes of a signal to streams and back: directly with this
// package, or through pdata of the type T with package stefpdata. Tests compare the results.
type paths[T any] struct {
	*descriptors.Descriptor[T]
	newWriter func(dst io.Writer, options []stef.WriterOption) (descriptors.Writer, func(message []byte) error, error)
	newReader func(src io.Reader, options []stefotlp.DecoderOption) (appendOTLP func([]byte) ([]byte, error), err error)
	merge     func(canon.Options, ...T) T
	diff      func(want, got T) string
	// records requires two streams to have equal records.
	records func(tb testing.TB, want, got []byte)
}

var (
	metrics = &paths[pmetric.Metrics]{
		descriptors.Metrics, writerOf(otelstef.NewMetricsWriter, stefotlp.NewMetricsEncoder), readerOf(otelstef.NewMetricsReader, stefotlp.NewMetricsDecoder),
		canon.Options.MergeMetrics, canon.DiffOrderedMetrics, recordsOf[otelstef.Metrics](otelstef.NewMetricsReader),
	}
	traces = &paths[ptrace.Traces]{
		descriptors.Traces, writerOf(otelstef.NewSpansWriter, stefotlp.NewTracesEncoder), readerOf(otelstef.NewSpansReader, stefotlp.NewTracesDecoder),
		canon.Options.MergeTraces, canon.DiffOrderedTraces, recordsOf[otelstef.Spans](otelstef.NewSpansReader),
	}
	logs = &paths[plog.Logs]{
		descriptors.Logs, writerOf(otelstef.NewLogsWriter, stefotlp.NewLogsEncoder), readerOf(otelstef.NewLogsReader, stefotlp.NewLogsDecoder),
		canon.Options.MergeLogs, canon.DiffOrderedLogs, sameLogRecords,
	}
)

func writerOf[W descriptors.Writer, E interface{ EncodeOTLP([]byte) error }](
	newWriter func(io.Writer, ...stef.WriterOption) (W, error), newEncoder func(W) E,
) func(io.Writer, []stef.WriterOption) (descriptors.Writer, func([]byte) error, error) {
	return func(dst io.Writer, options []stef.WriterOption) (descriptors.Writer, func([]byte) error, error) {
		w, err := newWriter(dst, options...)
		if err != nil {
			return nil, nil, err
		}
		return w, newEncoder(w).EncodeOTLP, nil
	}
}

func readerOf[R any, D interface {
	AppendOTLP([]byte) ([]byte, error)
}](newReader func(io.Reader, ...stef.ReaderOption) (R, error), newDecoder func(R, ...stefotlp.DecoderOption) D,
) func(io.Reader, []stefotlp.DecoderOption) (func([]byte) ([]byte, error), error) {
	return func(src io.Reader, options []stefotlp.DecoderOption) (func([]byte) ([]byte, error), error) {
		r, err := newReader(src)
		if err != nil {
			return nil, err
		}
		return newDecoder(r, options...).AppendOTLP, nil
	}
}

func recordsOf[R any, P interface {
	*R
	Equal(*R) bool
}, In interface {
	Next() bool
	Record() *R
	Err() error
}](newReader func(io.Reader, ...stef.ReaderOption) (In, error)) func(tb testing.TB, want, got []byte) {
	return func(tb testing.TB, want, got []byte) {
		a, err := newReader(bytes.NewReader(want))
		require.NoError(tb, err)
		b, err := newReader(bytes.NewReader(got))
		require.NoError(tb, err)
		for n := 0; ; n++ {
			more := a.Next()
			require.Equal(tb, more, b.Next(), "record %d", n)
			if !more {
				break
			}
			require.True(tb, P(a.Record()).Equal(b.Record()), "record %d", n)
		}
		require.NoError(tb, a.Err())
		require.NoError(tb, b.Err())
	}
}

// encode writes a stream with a frame for each message.
func (p *paths[T]) encode(tb testing.TB, messages [][]byte, options ...stef.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, encode, err := p.newWriter(&out, options)
	require.NoError(tb, err)
	for _, message := range messages {
		require.NoError(tb, encode(message))
		require.NoError(tb, w.Flush())
	}
	require.NoError(tb, w.Close())
	return out.Bytes()
}

// decode reads a stream into as many messages as AppendOTLP returns.
func (p *paths[T]) decode(tb testing.TB, stream []byte, options ...stefotlp.DecoderOption) [][]byte {
	tb.Helper()
	appendOTLP, err := p.newReader(bytes.NewReader(stream), options)
	require.NoError(tb, err)
	return messages(tb, appendOTLP)
}

func (p *paths[T]) unmarshal(tb testing.TB, messages [][]byte) (batches []T) {
	tb.Helper()
	for _, message := range messages {
		batch, err := p.Unmarshal(message)
		require.NoError(tb, err)
		batches = append(batches, batch)
	}
	return batches
}

// one returns the batches as one batch.
func (p *paths[T]) one(batches []T) T { return p.merge(canon.Options{}, batches...) }

var inOrder = []stefpdata.EncoderOption{stefpdata.WithMode(stefpdata.Ordered)}

// viaPdata converts messages to pdata and writes a stream with stefpdata.
func (p *paths[T]) viaPdata(tb testing.TB, messages [][]byte, options ...stef.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	e, err := p.NewEncoder(&out, inOrder, options...)
	require.NoError(tb, err)
	for _, batch := range p.unmarshal(tb, messages) {
		require.NoError(tb, e.Encode(batch))
		require.NoError(tb, e.Writer.Flush())
	}
	require.NoError(tb, e.Writer.Close())
	return out.Bytes()
}

// toPdata reads a stream with stefpdata.
func (p *paths[T]) toPdata(tb testing.TB, stream []byte) (batches []T) {
	tb.Helper()
	d, err := p.NewDecoder(bytes.NewReader(stream), nil)
	require.NoError(tb, err)
	for {
		batch, err := d.Decode()
		if errors.Is(err, io.EOF) {
			return batches
		}
		require.NoError(tb, err)
		batches = append(batches, batch)
	}
}

// requireSame requires two lists of messages to have the same content.
func (p *paths[T]) requireSame(tb testing.TB, want, got [][]byte) {
	tb.Helper()
	require.Empty(tb, p.diff(p.one(p.unmarshal(tb, want)), p.one(p.unmarshal(tb, got))))
}

// requireRead requires stefotlp and stefpdata to read the same content from a stream.
func (p *paths[T]) requireRead(tb testing.TB, stream []byte) {
	tb.Helper()
	require.Empty(tb, p.diff(p.one(p.toPdata(tb, stream)), p.one(p.unmarshal(tb, p.decode(tb, stream)))))
}

// requireStream requires stefotlp and stefpdata to write the same stream, and to read the same
// content from it.
func (p *paths[T]) requireStream(tb testing.TB, messages [][]byte, options ...stef.WriterOption) {
	tb.Helper()
	stream := p.encode(tb, messages, options...)
	require.True(tb, bytes.Equal(p.viaPdata(tb, messages, options...), stream), "the stream is not that of the pdata path")
	p.requireRead(tb, stream)
}

// decoded requires each decoder call of stefotlp and stefpdata to return the same content.
func (p *paths[T]) decoded(tb testing.TB, stream []byte) {
	pdata, err := p.NewDecoder(bytes.NewReader(stream), []stefpdata.DecoderOption{stefpdata.WithMaxItems(maxItems)})
	require.NoError(tb, err)
	appendOTLP, err := p.newReader(bytes.NewReader(stream), []stefotlp.DecoderOption{stefotlp.WithMaxItems(maxItems)})
	require.NoError(tb, err)
	same(tb, pdata.Decode, appendOTLP, p.Unmarshal, p.diff)
}

// signal contains functions of paths for one signal, without the type parameter. So tests can loop over
// all signals.
type signal struct {
	name      string
	published stef.WriterOption
	// encode writes a message to its own stream.
	encode func(tb testing.TB, message []byte, options ...stef.WriterOption) (stream []byte, err error)
	// unmarshal reports whether pdata accepts the message.
	unmarshal func(message []byte) error
	// encodePdata is like encode, but converts through pdata, which must accept the message.
	encodePdata func(tb testing.TB, message []byte, options ...stef.WriterOption) (stream []byte, err error)
	// records requires two streams to have equal records.
	records func(tb testing.TB, want, got []byte)
	// decoded requires stefotlp and stefpdata to read the same content from a stream.
	decoded func(tb testing.TB, stream []byte)
}

var signals = []signal{metrics.signal(), traces.signal(), logs.signal()}

func (p *paths[T]) signal() signal {
	published := stef.WithSchema(schema.WireOf(p.Root()))
	if p.Published != nil {
		published = p.Published()
	}
	return signal{
		name: p.Name, published: published, records: p.records, decoded: p.decoded,
		unmarshal: func(message []byte) error {
			_, err := p.Unmarshal(message)
			return err
		},
		encode: func(tb testing.TB, message []byte, options ...stef.WriterOption) ([]byte, error) {
			var out bytes.Buffer
			w, encode, err := p.newWriter(&out, options)
			require.NoError(tb, err)
			err = encode(message)
			require.NoError(tb, w.Close())
			return out.Bytes(), err
		},
		encodePdata: func(tb testing.TB, message []byte, options ...stef.WriterOption) ([]byte, error) {
			batch, err := p.Unmarshal(message)
			require.NoError(tb, err)
			var out bytes.Buffer
			e, err := p.NewEncoder(&out, inOrder, options...)
			require.NoError(tb, err)
			err = e.Encode(batch)
			require.NoError(tb, e.Writer.Close())
			return out.Bytes(), err
		},
	}
}

// Limits for reading one stream: items per call, and calls. A short stream can contain very many
// records.
const (
	maxItems = 1000
	maxCalls = 200
)

// same requires two decoders of the same stream to return the same result in each call, and to omit
// the same records.
func same[T any](tb testing.TB, decode func() (T, error), appendOTLP func([]byte) ([]byte, error),
	unmarshal func([]byte) (T, error), diff func(want, got T) string) {
	for range maxCalls {
		want, wantErr := decode()
		b, err := appendOTLP(nil)
		got, unmarshalErr := unmarshal(b)
		require.NoError(tb, unmarshalErr)
		require.Empty(tb, diff(want, got))

		var wantLeft stefpdata.RecordErrors
		var left stefotlp.RecordErrors
		switch {
		case wantErr == nil:
			require.NoError(tb, err)
		case errors.As(wantErr, &wantLeft):
			require.ErrorAs(tb, err, &left)
			require.Equal(tb, numbers(wantLeft, func(e *stefpdata.RecordError) (uint64, uint64) { return e.First, e.Last }),
				numbers(left, func(e *stefotlp.RecordError) (uint64, uint64) { return e.First, e.Last }))
		default:
			require.Equal(tb, errors.Is(wantErr, io.EOF), errors.Is(err, io.EOF))
			require.Equal(tb, wantErr, err)
			return
		}
	}
}

// numbers returns the numbers of all records in the ranges of a list of errors.
func numbers[E any](list []E, ends func(E) (first, last uint64)) (all []uint64) {
	for _, e := range list {
		first, last := ends(e)
		for ; first <= last; first++ {
			all = append(all, first)
		}
	}
	return all
}
