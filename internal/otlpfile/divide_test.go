// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest/canon"
	"github.com/otelstef/stef/internal/teltest/randtel"
)

// A batch whose message would be larger than a Reader accepts is written as several messages, which
// have all items and all containers without items.
func TestLargeBatchIsDivided(t *testing.T) {
	for _, s := range otlpfile.Signals() {
		for _, f := range []otlpfile.Format{otlpfile.Parts, otlpfile.Proto, otlpfile.JSON} {
			t.Run(fmt.Sprintf("%s/%s", s, f), func(t *testing.T) {
				for seed := range uint64(8) {
					requireDivided(t, f, encodable(t, f, randomBatch(s, randtel.New(seed))), seed)
				}
			})
		}
	}
}

func randomBatch(s otlpfile.Signal, r randtel.Random) otlpfile.Batch {
	switch s {
	case otlpfile.Metrics:
		return otlpfile.MetricsBatch(r.Metrics())
	case otlpfile.Traces:
		return otlpfile.TracesBatch(r.Traces())
	}
	return otlpfile.LogsBatch(r.Logs())
}

// encodable returns the batch that a reader returns after b was written. It can differ from b: JSON cannot
// contain text that is not UTF-8, and in some fields protobuf writes -0 as 0.
func encodable(t *testing.T, f otlpfile.Format, b otlpfile.Batch) otlpfile.Batch {
	if f == otlpfile.JSON {
		text, err := b.JSON()
		require.NoError(t, err)
		b, err = otlpfile.UnmarshalJSON(b.Signal, text)
		require.NoError(t, err)
		return b
	}
	message, err := b.Marshal()
	require.NoError(t, err)
	b, err = otlpfile.Unmarshal(b.Signal, message)
	require.NoError(t, err)
	b.OTLP = nil
	return b
}

func requireDivided(t *testing.T, f otlpfile.Format, b otlpfile.Batch, seed uint64) {
	const most = 2000
	var out bytes.Buffer
	w, err := otlpfile.NewWriter(&out, f, b.Signal)
	require.NoError(t, err)
	otlpfile.DivideAbove(w, most)
	require.NoError(t, w.Write(b))
	require.NoError(t, w.Close())
	r, err := otlpfile.Open(&out, f, b.Signal)
	require.NoError(t, err)
	defer r.Close()
	var got []otlpfile.Batch
	for {
		part, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		message := part.OTLP
		if f == otlpfile.JSON {
			message, err = part.JSON()
		}
		require.NoError(t, err)
		if f != otlpfile.Proto { // the messages of a file of one message are joined
			require.True(t, len(message) <= most || part.Items() <= 1, "%d items in %d bytes", part.Items(), len(message))
		}
		part.OTLP = nil
		got = append(got, part)
	}
	if f != otlpfile.Proto && b.Items() > 0 {
		require.Len(t, got, w.Parts())
	}
	require.Empty(t, diffItems([]otlpfile.Batch{b}, got), "seed %d", seed)
	require.Equal(t, emptyContainers(b), emptyContainers(got...), "seed %d", seed)
}

func diffItems(want, got []otlpfile.Batch) string {
	var o canon.Options
	var md [2][]pmetric.Metrics
	var td [2][]ptrace.Traces
	var ld [2][]plog.Logs
	for i, batches := range [2][]otlpfile.Batch{want, got} {
		for _, b := range batches {
			switch b.Signal {
			case otlpfile.Metrics:
				md[i] = append(md[i], b.Metrics)
			case otlpfile.Traces:
				td[i] = append(td[i], b.Traces)
			default:
				ld[i] = append(ld[i], b.Logs)
			}
		}
	}
	return canon.Diff(o.Metrics(md[0]...), o.Metrics(md[1]...)) + canon.Diff(o.Traces(td[0]...), o.Traces(td[1]...)) +
		canon.Diff(o.Logs(ld[0]...), o.Logs(ld[1]...))
}

// emptyContainers returns the numbers of resources, scopes and metrics that have nothing in them.
func emptyContainers(batches ...otlpfile.Batch) (n [3]int) {
	count := func(level, elements int) {
		if elements == 0 {
			n[level]++
		}
	}
	for _, b := range batches {
		switch b.Signal {
		case otlpfile.Metrics:
			for _, rm := range b.Metrics.ResourceMetrics().All() {
				count(0, rm.ScopeMetrics().Len())
				for _, sm := range rm.ScopeMetrics().All() {
					count(1, sm.Metrics().Len())
					for _, m := range sm.Metrics().All() {
						count(2, otlpfile.Points(m))
					}
				}
			}
		case otlpfile.Traces:
			for _, rs := range b.Traces.ResourceSpans().All() {
				count(0, rs.ScopeSpans().Len())
				for _, ss := range rs.ScopeSpans().All() {
					count(1, ss.Spans().Len())
				}
			}
		default:
			for _, rl := range b.Logs.ResourceLogs().All() {
				count(0, rl.ScopeLogs().Len())
				for _, sl := range rl.ScopeLogs().All() {
					count(1, sl.LogRecords().Len())
				}
			}
		}
	}
	return n
}

// A Reader accepts no message of more than DefaultMaxPart bytes, so a Writer omits larger items and
// writes the others.
func TestItemTooLargeToRead(t *testing.T) {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, size := range []int{1, otlpfile.DefaultMaxPart, 2} {
		records.AppendEmpty().Body().SetStr(strings.Repeat("a", size))
	}
	var file bytes.Buffer
	w, err := otlpfile.NewWriter(&file, otlpfile.Parts, otlpfile.Logs)
	require.NoError(t, err)
	var omitted *otlpfile.ItemsError
	err = w.Write(otlpfile.LogsBatch(ld))
	require.ErrorIs(t, err, otlpfile.ErrTooLarge)
	require.ErrorAs(t, err, &omitted)
	require.Equal(t, 1, omitted.Items)
	require.NoError(t, w.Close())
	r, err := otlpfile.Open(&file, otlpfile.Parts, otlpfile.Logs)
	require.NoError(t, err)
	defer r.Close()
	var sizes []int
	for {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		for _, record := range b.Logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
			sizes = append(sizes, len(record.Body().Str()))
		}
	}
	require.Equal(t, []int{1, 2}, sizes)
}
