// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// allowance is the number of bytes that a reader can use in addition to those that it counts.
const allowance = 3 << 20

type hostileReader interface {
	Next() bool
	Err() error
	Stats() stef.ReaderStats
	Close()
}

// requireCounted reads a hostile stream and compares the memory of its reader with ReaderStats.HeldBytes.
// The memory must be at most 1.5 times the sum of HeldBytes and allowance. HeldBytes must be at most 3
// times the sum of the memory and allowance.
func requireCounted[R hostileReader](t *testing.T, stream []byte, records int, open func(src *bytes.Reader) (R, error)) {
	t.Helper()
	before := heap()
	r, err := open(bytes.NewReader(stream))
	require.NoError(t, err)
	for range records {
		require.True(t, r.Next(), r.Err())
	}
	live, counted := heap()-before, int64(r.Stats().HeldBytes)
	runtime.KeepAlive(r)
	runtime.KeepAlive(stream)
	t.Logf("%d bytes of stream: %d live, %d counted", len(stream), live, counted)
	require.LessOrEqual(t, float64(live), 1.5*float64(counted+allowance))
	require.LessOrEqual(t, float64(counted), 3*float64(live+allowance), "what is not held must not count")
	r.Close()
}

func hostileLogs(src *bytes.Reader) (*otelstef.LogsReader, error) { return otelstef.NewLogsReader(src) }

func hostileSpans(src *bytes.Reader) (*otelstef.SpansReader, error) {
	return otelstef.NewSpansReader(src)
}

// The tables of dictionaries double their memory when they grow, and keep it when the dictionaries restart.
// HeldBytes must count this memory.
func TestHostileTables(t *testing.T) {
	if testing.Short() {
		t.Skip("needs many entries")
	}
	const texts = 1<<19 + 1
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, stef.WithDictBytes(1<<30), stef.WithFrameBytes(60<<20), stef.WithRestart(stef.RestartDictionaries))
	require.NoError(t, err)
	rec := w.Record().Record()
	for i := range texts {
		rec.SetSeverityText(fmt.Sprintf("%x", i+16))
		rec.SetEventName(rec.SeverityText())
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Flush())
	t.Run("full", func(t *testing.T) { requireCounted(t, out.Bytes(), texts, hostileLogs) })
	require.NoError(t, w.Write())
	require.NoError(t, w.Flush())
	t.Run("restarted", func(t *testing.T) { requireCounted(t, out.Bytes(), texts+1, hostileLogs) })
}

// In the compact form, a reader keeps the ids that the stream sent, in addition to the ids of
// the record. HeldBytes must count both.
func TestHostileIDs(t *testing.T) {
	const size = 8 << 20
	id := bytes.Repeat([]byte{7}, size)
	t.Run("spans", func(t *testing.T) {
		var out bytes.Buffer
		w, err := otelstef.NewSpansWriter(&out, otelstef.CompactSpans(), stef.WithFrameBytes(60<<20), stef.WithCompression(stef.Zstd))
		require.NoError(t, err)
		span := w.Record().Span()
		for i, set := range []func([]byte){span.SetTraceID, span.SetSpanID, span.SetParentSpanID} {
			set(id[i:])
			require.NoError(t, w.Write())
			require.NoError(t, w.Flush())
		}
		requireCounted(t, out.Bytes(), 3, hostileSpans)
	})
	t.Run("logs", func(t *testing.T) {
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out, otelstef.CompactLogs(), stef.WithFrameBytes(60<<20), stef.WithDictBytes(1<<30), stef.WithCompression(stef.Zstd))
		require.NoError(t, err)
		log := w.Record().Record()
		log.SetTraceID(id)
		log.SetSpanID(id)
		require.NoError(t, w.Write())
		require.NoError(t, w.Flush())
		requireCounted(t, out.Bytes(), 1, hostileLogs)
	})
}

// The lists Words and Floats of the compact form can be long although no point uses them. HeldBytes must
// count them.
func TestHostileCompactLists(t *testing.T) {
	root := otelstef.MetricsCompactRoot()
	rec := dynamic.NewStruct(root)
	compact := fieldOf(t, root, rec, "Compact").(*dynamic.Struct)
	form := structOf(t, root, "Compact")
	for _, name := range []string{"Words", "Floats"} {
		list := fieldOf(t, form, compact, name).(*dynamic.Array)
		for range 1 << 19 {
			if name == "Words" {
				list.Elems = append(list.Elems, uint64(0))
			} else {
				list.Elems = append(list.Elems, float64(0))
			}
		}
	}
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, root, dynamic.WithSchema(otelstef.MetricsCompactSchema()), dynamic.WithSchemaHeader())
	require.NoError(t, err)
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	requireCounted(t, out.Bytes(), 1, func(src *bytes.Reader) (*otelstef.MetricsReader, error) {
		return otelstef.NewMetricsReader(src)
	})
}

// After a restart of the dictionaries, a reader of the compact form keeps the resource, scope and metric of
// the record in memory. HeldBytes must count them.
func TestHostileContainers(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, otelstef.CompactMetrics(), stef.WithFrameBytes(60<<20), stef.WithDictBytes(1<<30),
		stef.WithCompression(stef.Zstd), stef.WithRestart(stef.RestartDictionaries))
	require.NoError(t, err)
	rec := w.Record()
	containers := []*otelstef.Attributes{rec.Resource().Attributes(), rec.Scope().Attributes(), rec.Metric().Metadata()}
	for i, attributes := range containers {
		attributes.SetLen(1)
		attributes.SetKey(0, "key")
		attributes.Value(0).SetArray().SetLen(100_000 + i)
	}
	require.NoError(t, w.Write())
	require.NoError(t, w.Flush())
	for _, attributes := range []*otelstef.Attributes{rec.Resource().Attributes(), rec.Scope().Attributes(), rec.Metric().Metadata()} {
		attributes.SetLen(0)
	}
	for i := range 2 { // the record is measured again, because it grows
		rec.Point().SetTimestamp(uint64(i))
		rec.Point().Value().SetHistogram().BucketCounts().SetLen(250_000)
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Flush())
	requireCounted(t, out.Bytes(), 3, func(src *bytes.Reader) (*otelstef.MetricsReader, error) {
		return otelstef.NewMetricsReader(src)
	})
}

func structOf(t *testing.T, s *schema.Struct, field string) *schema.Struct {
	for _, f := range s.Fields {
		if f.Name == field {
			return f.Type.Struct
		}
	}
	t.Fatal(field)
	return nil
}

func fieldOf(t *testing.T, s *schema.Struct, v *dynamic.Struct, field string) any {
	for i, f := range s.Fields {
		if f.Name == field {
			return v.Fields[i]
		}
	}
	t.Fatal(field)
	return nil
}
