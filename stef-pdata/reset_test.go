// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// resettable is a writer with its encoder. encode creates a batch from the random numbers of r and
// encodes it.
type resettable struct {
	writer interface {
		Reset(io.Writer) error
		Flush() error
	}
	encoder interface{ Reset() }
	encode  func(r random) error
}

// crowd adds many distinct attributes, so that caches and dictionaries grow.
func crowd(r random, m pcommon.Map, n int) {
	for i := range n {
		m.PutStr(fmt.Sprintf("key.%d", i), fmt.Sprintf("value-%d-%d", i, r.IntN(1000)))
	}
}

// TestEncoderReset: after Reset, an encoder writes the same bytes as a new encoder. This holds after
// ordinary batches, batches that fill caches, and items that exceed limits.
func TestEncoderReset(t *testing.T) {
	signals := map[string]func(dst io.Writer, compact bool, options ...stefpdata.EncoderOption) resettable{
		"metrics": func(dst io.Writer, compact bool, options ...stefpdata.EncoderOption) resettable {
			w, err := otelstef.NewMetricsWriter(dst, inForm(compact, otelstef.CompactMetrics())...)
			require.NoError(t, err)
			e := stefpdata.NewMetricsEncoder(w, options...)
			return resettable{w, e, func(r random) error {
				md := r.metrics()
				if r.one(5) {
					points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
					for range 8 {
						crowd(r, points.AppendEmpty().Attributes(), pick(r, 40, 40, stef.MaxPairs+1))
					}
				}
				return e.Encode(md)
			}}
		},
		"traces": func(dst io.Writer, compact bool, options ...stefpdata.EncoderOption) resettable {
			w, err := otelstef.NewSpansWriter(dst, inForm(compact, otelstef.CompactSpans())...)
			require.NoError(t, err)
			e := stefpdata.NewTracesEncoder(w, options...)
			return resettable{w, e, func(r random) error {
				td := r.traces()
				if r.one(5) {
					spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
					for i := range 8 {
						span := spans.AppendEmpty()
						span.SetName(fmt.Sprint("name ", r.IntN(100), i))
						crowd(r, span.Attributes(), pick(r, 40, 40, 63, stef.MaxPairs+1))
					}
				}
				return e.Encode(td)
			}}
		},
		"logs": func(dst io.Writer, compact bool, options ...stefpdata.EncoderOption) resettable {
			w, err := otelstef.NewLogsWriter(dst, inForm(compact, otelstef.CompactLogs())...)
			require.NoError(t, err)
			e := stefpdata.NewLogsEncoder(w, options...)
			return resettable{w, e, func(r random) error {
				ld := r.logs()
				if r.one(5) {
					records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
					for range 8 {
						crowd(r, records.AppendEmpty().Attributes(), pick(r, 40, 40, stef.MaxPairs+1))
					}
				}
				return e.Encode(ld)
			}}
		},
	}
	for name, open := range signals {
		for _, mode := range []stefpdata.Mode{stefpdata.Ordered, stefpdata.Sorted} {
			for _, compact := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/mode=%d/compact=%t", name, mode, compact), func(t *testing.T) {
					options := []stefpdata.EncoderOption{stefpdata.WithMode(mode), stefpdata.WithTemplates(stefpdata.TemplatesOn)}
					var got, want bytes.Buffer
					used := open(&got, compact, options...)
					rejected := 0
					for seed := range uint64(40) {
						fresh := open(&want, compact, options...)
						n := writeBatches(t, fresh, seed)
						require.Equal(t, n, writeBatches(t, used, seed), "batches with rejected items")
						rejected += n
						require.True(t, bytes.Equal(want.Bytes(), got.Bytes()), "stream %d", seed)
						got.Reset()
						want.Reset()
						require.NoError(t, used.writer.Reset(&got))
						used.encoder.Reset()
					}
					require.Positive(t, rejected, "no item exceeded a limit")
				})
			}
		}
	}
}

// writeBatches writes a few batches, and returns how many of them had rejected items.
func writeBatches(t *testing.T, s resettable, seed uint64) (rejected int) {
	r := newRandom(seed)
	for range 1 + r.IntN(3) {
		var some stefpdata.ItemErrors
		if err := s.encode(r); errors.As(err, &some) {
			rejected++
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, s.writer.Flush())
	}
	return rejected
}

// inForm returns the option of the compact form if compact is true, otherwise no option.
func inForm(compact bool, option stef.WriterOption) []stef.WriterOption {
	if compact {
		return []stef.WriterOption{option}
	}
	return nil
}
