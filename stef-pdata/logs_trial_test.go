// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// trialLogs returns a batch of bodies. Their templates save bytes if pays is true.
func trialLogs(r random, n int, pays bool) plog.Logs {
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for range n {
		lr := lrs.AppendEmpty()
		lr.SetTimestamp(1)
		switch {
		case r.one(50):
			lr.Body().SetInt(7)
		case r.one(50):
			lr.Body().SetStr("a\x001")
		case pays:
			lr.Body().SetStr(fmt.Sprintf("10.0.0.%d asked node %d of zone %d for block %d, which took %d us and %d reads",
				r.IntN(100), r.IntN(50), r.IntN(9), r.IntN(100), r.IntN(100), r.IntN(100)))
		default:
			lr.Body().SetStr(fmt.Sprintf("%c%d%c%d", 'a'+r.IntN(26), r.IntN(10), 'a'+r.IntN(26), r.IntN(10)))
		}
	}
	return ld
}

// If the encoder disables templates and enables them again within a stream, no content is lost.
// After Reset, the encoder writes the same bytes again.
func TestTemplatesThatChangeRoundTrip(t *testing.T) {
	for seed := range uint64(8) {
		r := newRandom(seed)
		var lds []plog.Logs
		size := pick(r, 5, 20, 70, 300)
		for phase := range 4 {
			for n := 0; n < 10_000; {
				batch := 1 + r.IntN(2*size)
				lds = append(lds, trialLogs(r, batch, phase%2 == 1))
				n += batch
			}
		}
		flush := pick(r, 1, 3)
		mode := modes[seed%2]
		options := []stef.WriterOption{stef.WithCompression(stef.Zstd)}
		if seed%4 < 2 {
			options = append(options, otelstef.CompactLogs())
		}
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out, options...)
		require.NoError(t, err)
		e := stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode))
		encode := func() []byte {
			for i, ld := range lds {
				require.NoError(t, e.Encode(ld))
				if i%flush == 0 {
					require.NoError(t, w.Flush())
				}
			}
			require.NoError(t, w.Close())
			return bytes.Clone(out.Bytes())
		}
		stream := encode()
		requireSameLogs(t, mode, lds, decodeLogs(t, stream))
		requireChanges(t, stream)
		out.Reset()
		require.NoError(t, w.Reset(&out))
		e.Reset()
		require.Equal(t, stream, encode())
	}
}

// requireChanges checks that long runs of texts and long runs of templates alternate in a stream.
func requireChanges(t *testing.T, stream []byte) {
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(t, err)
	var runs []string
	changes, run, last := 0, 0, otelstef.LogBodyTypeNone
	for r.Next() {
		body := r.Record().Record().Body()
		if body.Type() == otelstef.LogBodyTypeValue || body.Type() == otelstef.LogBodyTypeString && body.String() == "a\x001" {
			continue
		}
		if body.Type() != last {
			runs = append(runs, fmt.Sprint(run))
			run, last = 0, body.Type()
		}
		if run++; run == 500 {
			changes++
		}
	}
	require.NoError(t, r.Err())
	require.GreaterOrEqual(t, changes, 4, "%v", runs)
}

// The templates of a large batch can stop saving bytes at the end of the batch. The earlier bodies
// are written as templates nevertheless, in both modes.
func TestTemplatesOfLargeBatches(t *testing.T) {
	r := newRandom(1)
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	var names []string
	for at := range 3000 {
		if at%40 < 11 {
			names = append(names, string([]byte{'a' + byte(r.IntN(26)), 'a' + byte(r.IntN(26)), 'a' + byte(r.IntN(26)), 'a' + byte(r.IntN(26))}))
		}
		name := names[len(names)-1-r.IntN(min(len(names), 20))]
		if at%40 < 11 {
			name = names[len(names)-1]
		}
		lrs.AppendEmpty().Body().SetStr(fmt.Sprintf("2025-06-24 14:%02d:%02d installed package %s %d.%d-%d", at/300, at/5%60, name, r.IntN(9), r.IntN(99), r.IntN(9)))
	}
	for _, mode := range modes {
		reader, err := otelstef.NewLogsReader(bytes.NewReader(encodeLogs(t, []plog.Logs{ld}, mode, stef.WithCompression(stef.Zstd))))
		require.NoError(t, err)
		templates := 0
		for reader.Next() {
			if reader.Record().Record().Body().Type() == otelstef.LogBodyTypeTemplate {
				templates++
			}
		}
		require.NoError(t, reader.Err())
		require.Greater(t, templates, 2000, mode)
	}
}
