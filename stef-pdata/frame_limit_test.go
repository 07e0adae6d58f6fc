// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// largestWrite is an io.Writer that stores the size of its largest write. This write is the
// largest frame of the stream.
type largestWrite int

func (n *largestWrite) Write(b []byte) (int, error) {
	*n = max(*n, largestWrite(len(b)))
	return len(b), nil
}

// The largest frame is a full frame plus a record whose resource, scope, metric and point are as
// large as an encoder allows. The comments of this package and of stef.Limits state this size,
// and the default limits accept it.
func TestLargestFrame(t *testing.T) {
	const atMost = stef.DefaultFrameBytes + 4*stefpdata.MaxItemBytes
	for file, word := range map[string]string{"doc.go": "With the default frame size this is 36 MiB", "../stef-go/limits.go": "at most 36 MiB with the default frame size"} {
		require.Equal(t, 36, (atMost+1<<20-1)>>20)
		require.Contains(t, comments(t, file), word)
	}

	md := pmetric.NewMetrics()
	points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
	text := strings.Repeat("y", 1<<10)
	for i := range stef.DefaultFrameBytes/len(text) - 50 { // almost a frame
		points.AppendEmpty().Attributes().PutStr("k", fmt.Sprint(text, i))
	}
	large := strings.Repeat("x", stefpdata.MaxItemBytes-1000)
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("k", large+"r")
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().Attributes().PutStr("k", large+"s")
	m := sm.Metrics().AppendEmpty()
	m.SetDescription(large)
	m.SetEmptyGauge().DataPoints().AppendEmpty().Attributes().PutStr("k", large+"p")

	for name, options := range map[string][]stef.WriterOption{"full": nil, "compact": {otelstef.CompactMetrics()}} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			var largest largestWrite
			w, err := otelstef.NewMetricsWriter(io.MultiWriter(&out, &largest), append(options, stef.WithDictBytes(1<<30))...)
			require.NoError(t, err)
			require.NoError(t, stefpdata.NewMetricsEncoder(w).Encode(md))
			require.NoError(t, w.Close())
			require.Less(t, int(largest), atMost)
			require.Greater(t, int(largest), 35<<20)
			items := 0
			for _, got := range decodeMetrics(t, out.Bytes()) {
				items += got.DataPointCount()
			}
			require.Equal(t, md.DataPointCount(), items)
		})
	}
}

// Even if WithFrameBytes is 63 MiB, a frame ends at 31 MiB. In a frame of 63 MiB, the next record could make the
// frame larger than MaxFrameBytes, 64 MiB. The writer would not detect this: it does not add up the
// sizes of texts below 64 KiB before it encodes a record.
func TestFullFrameHasSpace(t *testing.T) {
	ld := plog.NewLogs()
	record := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	for i := range 70 { // a record has 4.1 MiB: 15 records are below 63 MiB, and 16 are above 64 MiB
		record.Attributes().PutEmptyBytes(fmt.Sprint(i)).FromRaw(make([]byte, 60<<10))
	}
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, stef.WithFrameBytes(stef.MaxFrameBytes-1<<20))
	require.NoError(t, err)
	e := stefpdata.NewLogsEncoder(w)
	const records = 17
	for i := range records {
		for _, v := range record.Attributes().All() {
			v.Bytes().SetAt(0, byte(i)) // so that each value is sent again
		}
		require.NoError(t, e.Encode(ld))
	}
	require.NoError(t, w.Close())
	require.Greater(t, out.Len(), stef.MaxFrameBytes)
	items := 0
	for _, got := range decodeLogs(t, out.Bytes()) {
		items += got.LogRecordCount()
	}
	require.Equal(t, records, items)
}
