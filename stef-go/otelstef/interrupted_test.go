// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/steftest"
)

// failingDestination fails after some writes.
type failingDestination struct {
	bytes.Buffer
	writes int
}

var errDestination = errors.New("the destination fails")

func (f *failingDestination) Write(b []byte) (int, error) {
	if f.writes--; f.writes < 0 {
		return 0, errDestination
	}
	return f.Buffer.Write(b)
}

// interrupted writes random records with one writer. Between the records it flushes, begins new streams,
// exceeds limits, writes large texts and makes the destination fail. Then one reader reads all streams,
// some of them only in part. It must return the records of all frames that were written.
func interrupted[R any, W interface {
	steftest.Writer[R]
	Reset(io.Writer) error
}, D interface {
	steftest.Reader[R]
	Reset(io.Reader) error
}](t *testing.T, c compactForm, newWriter func(io.Writer, ...stef.WriterOption) (W, error),
	newReader func(io.Reader, ...stef.ReaderOption) (D, error), attributesOf func(R) *otelstef.Attributes) {
	type stream struct {
		bytes []byte
		want  []*dynamic.Struct
	}
	logRoot = c.Schema
	for seed := range seeds(60) {
		r := rand.New(rand.NewPCG(seed, 41))
		options, compact := randomOptions(r), r.IntN(3) > 0
		if compact {
			options = append(options, c.option)
		}
		dst := &failingDestination{writes: 1 << 30}
		w, err := newWriter(dst, options...)
		require.NoError(t, err)
		pool := steftest.NewPool()
		m := steftest.NewMutator(r.Uint64(), c.Root, w.Record(), pool)
		var streams []stream
		var want []*dynamic.Struct
		end := func() { streams = append(streams, stream{bytes.Clone(dst.Bytes()), want[:w.Stats().Flushed]}) }
		write := func(rec *dynamic.Struct) {
			if err := w.Write(); err != nil {
				require.ErrorIs(t, err, errDestination, "seed %d", seed)
			} else {
				want = append(want, rec)
			}
		}
		for range 20 + r.IntN(60) {
			switch r.IntN(20) {
			case 0:
				end()
				if dst = (&failingDestination{writes: 1 << 30}); r.IntN(2) == 0 {
					dst.writes = 2 + r.IntN(4)
				}
				if r.IntN(3) == 0 {
					_ = w.Close()
				}
				require.NoError(t, w.Reset(dst))
				m, want = steftest.NewMutator(r.Uint64(), c.Root, w.Record(), pool), nil
			case 1:
				_ = w.Flush() // the next Write returns its error, too
			case 2, 3:
				m.Mutate()
				a, before := attributesOf(w.Record()), w.Stats()
				n := a.Len()
				a.SetLen(stef.MaxPairs + 1)
				if err := w.Write(); !errors.Is(err, errDestination) {
					require.ErrorIs(t, err, stef.ErrLimit, "seed %d", seed)
				}
				require.Equal(t, before, w.Stats(), "seed %d", seed)
				a.SetLen(n)
			case 4:
				a := attributesOf(w.Record())
				n := a.Len()
				if n == stef.MaxPairs {
					break
				}
				a.SetLen(n + 1)
				a.SetString(n, "large", strings.Repeat("x", 64<<10))
				write(steftest.Value(w.Record(), c.Schema, nil))
				a.SetLen(n)
			default:
				write(m.Mutate())
			}
			if s := w.Stats(); int(s.Records) != len(want) {
				require.ErrorIs(t, w.Flush(), errDestination, "seed %d", seed)
				want = want[:s.Flushed]
			}
		}
		_ = w.Close()
		end()
		var d D
		for i, s := range streams {
			if note := fmt.Sprintf("seed %d, stream %d", seed, i); i == 0 {
				d, err = newReader(bytes.NewReader(s.bytes))
				require.NoError(t, err, note)
			} else {
				require.NoError(t, d.Reset(bytes.NewReader(s.bytes)), note)
			}
			stop := r.IntN(4 * (len(s.want) + 1)) // usually beyond the end
			follower := steftest.NewFollower(c.Schema, nil)
			for k, rec := range s.want[:min(stop, len(s.want))] {
				if compact && c.plain != nil {
					rec = dynamic.Clone(rec).(*dynamic.Struct)
					c.plain(rec)
				}
				require.True(t, d.Next(), "seed %d, stream %d, record %d: %v", seed, i, k, d.Err())
				value := steftest.Value(d.Record(), c.Schema, nil)
				require.Empty(t, steftest.Diff(c.Schema, rec, value), "seed %d, stream %d, record %d", seed, i, k)
				require.Empty(t, steftest.Diff(c.Schema, value, follower.Next(d.Record())), "seed %d, stream %d, record %d by its marks", seed, i, k)
			}
			if stop >= len(s.want) {
				require.False(t, d.Next())
				require.NoError(t, d.Err())
			}
		}
	}
}

func TestInterruptedStreams(t *testing.T) {
	t.Run("metrics", func(t *testing.T) {
		interrupted(t, compactMetrics(t), otelstef.NewMetricsWriter, otelstef.NewMetricsReader, (*otelstef.Metrics).Attributes)
	})
	t.Run("spans", func(t *testing.T) {
		interrupted(t, compactSpans(t), otelstef.NewSpansWriter, otelstef.NewSpansReader,
			func(rec *otelstef.Spans) *otelstef.Attributes { return rec.Span().Attributes() })
	})
	t.Run("logs", func(t *testing.T) {
		interrupted(t, compactLogs(t), otelstef.NewLogsWriter, otelstef.NewLogsReader,
			func(rec *otelstef.Logs) *otelstef.Attributes { return rec.Record().Attributes() })
	})
}
