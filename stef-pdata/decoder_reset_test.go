// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

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
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// decoding is a reader with its decoder.
type decoding[B any] struct {
	reader interface {
		Reset(io.Reader) error
		Close()
	}
	decoder interface {
		Decode() (B, error)
		Reset()
	}
	marshal func(B) ([]byte, error)
}

// all returns the batches of a stream as OTLP, and all errors.
func (d decoding[B]) all(t *testing.T) (parts [][]byte, errs []string) {
	for {
		batch, err := d.decoder.Decode()
		part, failure := d.marshal(batch)
		require.NoError(t, failure)
		parts = append(parts, part)
		var some stefpdata.RecordErrors
		if err != nil {
			errs = append(errs, err.Error())
		}
		if err != nil && !errors.As(err, &some) {
			return parts, errs
		}
	}
}

// testDecoderReset: a decoder that was reset reads the same batches as a new decoder, whatever it
// read before: whole streams, cut streams, and damaged streams.
func testDecoderReset[B any](t *testing.T, write func(dst io.Writer, compact bool, compression stef.Compression, r random) error,
	open func(src io.Reader) (decoding[B], error)) {
	var used *decoding[B]
	resets := 0
	for seed := range uint64(120) {
		r := newRandom(seed)
		var out bytes.Buffer
		err := write(&out, r.one(2), pick(r, stef.None, stef.Zstd), r)
		var some stefpdata.ItemErrors
		if err != nil && !errors.As(err, &some) {
			require.NoError(t, err)
		}
		stream := out.Bytes()
		switch r.IntN(4) {
		case 0:
			stream = stream[:r.IntN(len(stream))]
		case 1:
			stream[r.IntN(len(stream))] ^= 1 << r.IntN(8)
		}
		fresh, err := open(bytes.NewReader(stream))
		if used == nil && err == nil {
			used = &fresh
			used.all(t)
			continue
		}
		if used == nil {
			continue
		}
		if r.one(2) {
			used.reader.Close()
		}
		again := used.reader.Reset(bytes.NewReader(stream))
		if err != nil {
			require.EqualError(t, again, err.Error(), "seed %d", seed)
			continue
		}
		require.NoError(t, again, "seed %d", seed)
		used.decoder.Reset()
		want, wantErrs := fresh.all(t)
		got, gotErrs := used.all(t)
		require.Equal(t, wantErrs, gotErrs, "seed %d", seed)
		require.Equal(t, want, got, "seed %d", seed)
		resets++
	}
	require.Greater(t, resets, 60)
}

func TestDecoderReset(t *testing.T) {
	options := func(compact bool, form stef.WriterOption, c stef.Compression) []stef.WriterOption {
		return append(inForm(compact, form), stef.WithCompression(c), stef.WithFrameBytes(2000))
	}
	t.Run("traces", func(t *testing.T) {
		testDecoderReset(t, func(dst io.Writer, compact bool, c stef.Compression, r random) error {
			w, err := otelstef.NewSpansWriter(dst, options(compact, otelstef.CompactSpans(), c)...)
			require.NoError(t, err)
			return errors.Join(stefpdata.NewTracesEncoder(w).Encode(r.traces()), w.Close())
		}, func(src io.Reader) (decoding[ptrace.Traces], error) {
			reader, err := otelstef.NewSpansReader(src)
			if err != nil {
				return decoding[ptrace.Traces]{}, err
			}
			return decoding[ptrace.Traces]{reader, stefpdata.NewTracesDecoder(reader), (&ptrace.ProtoMarshaler{}).MarshalTraces}, nil
		})
	})
	t.Run("metrics", func(t *testing.T) {
		testDecoderReset(t, func(dst io.Writer, compact bool, c stef.Compression, r random) error {
			w, err := otelstef.NewMetricsWriter(dst, options(compact, otelstef.CompactMetrics(), c)...)
			require.NoError(t, err)
			return errors.Join(stefpdata.NewMetricsEncoder(w).Encode(r.metrics()), w.Close())
		}, func(src io.Reader) (decoding[pmetric.Metrics], error) {
			reader, err := otelstef.NewMetricsReader(src)
			if err != nil {
				return decoding[pmetric.Metrics]{}, err
			}
			return decoding[pmetric.Metrics]{reader, stefpdata.NewMetricsDecoder(reader), (&pmetric.ProtoMarshaler{}).MarshalMetrics}, nil
		})
	})
	t.Run("logs", func(t *testing.T) {
		testDecoderReset(t, func(dst io.Writer, compact bool, c stef.Compression, r random) error {
			w, err := otelstef.NewLogsWriter(dst, options(compact, otelstef.CompactLogs(), c)...)
			require.NoError(t, err)
			return errors.Join(stefpdata.NewLogsEncoder(w, stefpdata.WithTemplates(stefpdata.TemplatesOn)).Encode(r.logs()), w.Close())
		}, func(src io.Reader) (decoding[plog.Logs], error) {
			reader, err := otelstef.NewLogsReader(src)
			if err != nil {
				return decoding[plog.Logs]{}, err
			}
			return decoding[plog.Logs]{reader, stefpdata.NewLogsDecoder(reader), (&plog.ProtoMarshaler{}).MarshalLogs}, nil
		})
	})
}
