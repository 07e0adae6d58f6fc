// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// All content of logs survives the round trip, over several batches and with frames of
// any size.
func TestRandomLogsRoundTrip(t *testing.T) {
	streams := [][]stef.WriterOption{
		nil,
		{stef.WithCompression(stef.Zstd)},
		{stef.WithFrameBytes(300), stef.WithCompression(stef.Zstd)},
		{stef.WithFrameBytes(1), stef.WithRestart(stef.RestartDictionaries | stef.RestartCodecs)},
		{stef.WithDictBytes(2000), stef.WithFrameBytes(5000)},
		{otelstef.CompactLogs()},
		{otelstef.CompactLogs(), stef.WithFrameBytes(300), stef.WithCompression(stef.Zstd), stef.WithRestart(stef.RestartCodecs)},
	}
	templates := []stefpdata.Templates{stefpdata.TemplatesOn, stefpdata.TemplatesOff, stefpdata.TemplatesAuto}
	for seed := range uint64(60) {
		r := newRandom(seed)
		var lds []plog.Logs
		for range 1 + r.IntN(4) {
			ld := r.logs()
			lds = append(lds, ld)
			if r.one(4) {
				lds = append(lds, r.scatterLogs(ld), ld)
			}
		}
		before := oneBatchOfLogs(lds)
		for _, mode := range modes {
			var out bytes.Buffer
			w, err := otelstef.NewLogsWriter(&out, pick(r, streams...)...)
			require.NoError(t, err)
			e := stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode), stefpdata.WithTemplates(pick(r, templates...)))
			for _, ld := range lds {
				require.NoError(t, e.Encode(ld))
				if r.one(2) {
					require.NoError(t, w.Flush())
				}
			}
			require.NoError(t, w.Close())
			requireSameLogs(t, mode, lds, decodeLogs(t, out.Bytes(), stefpdata.WithMaxItems(pick(r, 0, 1, 7, 1<<17))))
		}
		requireSameLogs(t, stefpdata.Ordered, []plog.Logs{before}, lds)
	}
}

func TestLogStreamsAreDeterministic(t *testing.T) {
	for seed := range uint64(20) {
		r := newRandom(seed)
		lds := []plog.Logs{r.logs(), r.logs(), r.logs()}
		for _, mode := range modes {
			first := encodeLogs(t, lds, mode, stef.WithCompression(stef.Zstd))
			copied := []plog.Logs{plog.NewLogs(), plog.NewLogs(), plog.NewLogs()}
			for i := range lds {
				lds[i].CopyTo(copied[i])
			}
			require.Equal(t, first, encodeLogs(t, copied, mode, stef.WithCompression(stef.Zstd)))
		}
	}
}

// Decode returns the available items, but not more than the limit. It puts records of one
// resource and scope into one container.
func TestDecodeLogsInBatches(t *testing.T) {
	ld := plog.NewLogs()
	for range 2 {
		sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
		for i := range 5 {
			sl.LogRecords().AppendEmpty().Body().SetInt(int64(i))
		}
	}
	stream := encodeLogs(t, []plog.Logs{ld, ld}, stefpdata.Ordered)
	f := func(max int, want ...int) {
		t.Helper()
		var got []int
		for _, ld := range decodeLogs(t, stream, stefpdata.WithMaxItems(max)) {
			got = append(got, ld.LogRecordCount())
			require.Equal(t, 1, ld.ResourceLogs().Len())
			require.Equal(t, 1, ld.ResourceLogs().At(0).ScopeLogs().Len())
		}
		require.Equal(t, want, got)
	}
	f(100, 10, 10)
	f(10, 10, 10)
	f(7, 7, 3, 7, 3)
	f(9, 9, 1, 9, 1)
}

// The log records of a scope are sorted by event name, attribute keys and time. If these are
// equal, log records keep their original order.
func TestOrderOfSortedLogs(t *testing.T) {
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i, x := range []struct {
		event, key string
		time       uint64
	}{{"a", "k", 5}, {"b", "k", 1}, {"a", "l", 2}, {"b", "k", 1}, {"a", "k", 3}, {"b", "k", 0}, {"a", "k", 5}} {
		lr := lrs.AppendEmpty()
		lr.SetEventName(x.event)
		lr.Attributes().PutInt(x.key, int64(i))
		lr.SetTimestamp(timestamp(x.time))
	}
	var got []int64
	for _, lr := range decodeLogs(t, encodeLogs(t, []plog.Logs{ld}, stefpdata.Sorted))[0].ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
		for _, v := range lr.Attributes().All() {
			got = append(got, v.Int())
		}
	}
	require.Equal(t, []int64{4, 0, 6, 2, 5, 1, 3}, got)
}

// Callers own decoded batches and may change them.
func TestDecodedLogsAreTheCallers(t *testing.T) {
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for range 3 {
		lrs.AppendEmpty().Attributes().PutStr("k", "v")
	}
	stream := encodeLogs(t, []plog.Logs{ld}, stefpdata.Ordered)
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(t, err)
	d := stefpdata.NewLogsDecoder(r, stefpdata.WithMaxItems(1))
	for range 3 {
		got, err := d.Decode()
		require.NoError(t, err)
		attributes := got.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes()
		require.Equal(t, map[string]any{"k": "v"}, attributes.AsRaw())
		attributes.PutStr("k", "changed")
	}
}

// Observed times are written as they are or as differences from the times of their log records,
// whichever is smaller.
func TestObservedTimes(t *testing.T) {
	f := func(delta bool, observed func(i int, time uint64) uint64) {
		t.Helper()
		ld := plog.NewLogs()
		lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for i := range 100 {
			lr := lrs.AppendEmpty()
			time := 1_700_000_000_000_000_000 + uint64(i*i*12345)
			lr.SetTimestamp(timestamp(time))
			lr.SetObservedTimestamp(timestamp(observed(i, time)))
		}
		stream := encodeLogs(t, []plog.Logs{ld}, stefpdata.Ordered)
		requireSameLogs(t, stefpdata.Ordered, []plog.Logs{ld}, decodeLogs(t, stream))
		r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
		require.NoError(t, err)
		for r.Next() {
			require.Equal(t, delta, r.Record().Record().HasObservedDelta())
		}
		require.NoError(t, r.Err())
	}
	f(true, func(i int, time uint64) uint64 { return time + 500 })
	f(true, func(i int, time uint64) uint64 { return time - uint64(i%2) })
	f(false, func(i int, time uint64) uint64 { return 1_700_000_001_000_000_000 })
	f(false, func(i int, time uint64) uint64 { return 0 })
}

// TestLossesOfLogs: Losses counts the content that was not written.
func TestLossesOfLogs(t *testing.T) {
	ld := plog.NewLogs()
	ld.ResourceLogs().AppendEmpty()
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	newRandom(1).LogRecord(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty(), false)
	for _, mode := range modes {
		w, err := otelstef.NewLogsWriter(new(bytes.Buffer))
		require.NoError(t, err)
		e := stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode))
		require.NoError(t, e.Encode(ld))
		require.Equal(t, stefpdata.Losses{EmptyContainers: 2}, e.Losses())
	}
}
