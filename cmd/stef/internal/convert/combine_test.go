// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

// heapReader reads a part n times. At the end it returns io.EOF and sets heap to the size of the
// heap.
type heapReader struct {
	part []byte
	n    int
	rest []byte
	heap uint64
}

func (r *heapReader) Read(b []byte) (int, error) {
	if len(r.rest) == 0 && r.n > 0 {
		r.rest = r.part
		r.n--
	}
	if len(r.rest) == 0 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		r.heap = stats.HeapAlloc
		return 0, io.EOF
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Parts without items are not held in memory for a combined frame: they would never fill the frame.
func TestCombineNoItems(t *testing.T) {
	traces := ptrace.NewTraces()
	traces.ResourceSpans().AppendEmpty().Resource().Attributes().PutStr("key", strings.Repeat("x", 1<<20))
	otlp, err := otlpfile.TracesBatch(traces).Marshal()
	require.NoError(t, err)
	part := append(binary.BigEndian.AppendUint32(nil, uint32(len(otlp))), otlp...)
	traces.ResourceSpans().At(0).ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName("a")
	otlp, err = otlpfile.TracesBatch(traces).Marshal()
	require.NoError(t, err)
	whole := append(binary.BigEndian.AppendUint32(nil, uint32(len(otlp))), otlp...)
	for _, mode := range []convert.Mode{convert.Ordered, convert.Sorted} {
		many := &heapReader{part: part, n: 100}
		in, err := file.Open("-", io.MultiReader(many, bytes.NewReader(whole)))
		require.NoError(t, err)
		res, err := convert.Run(in, io.Discard, convert.Options{
			From: convert.OTLPParts, To: convert.STEF, Root: stream.RootOf(otlpfile.Traces), Mode: mode, FrameItems: 1000, Compression: stef.Zstd,
		})
		in.Close()
		require.NoError(t, err)
		require.EqualValues(t, 1, res.Items)
		require.Equal(t, 1, res.PartsOut)
		require.Equal(t, []string{"100 resources, scopes or metrics without items"}, res.Losses)
		require.Less(t, many.heap, uint64(50<<20), mode)
	}
}
