// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// All content of traces survives the round trip, over several batches and with frames of
// any size, and the input is not changed.
func TestRandomTracesRoundTrip(t *testing.T) {
	f := func(tds []ptrace.Traces) {
		t.Helper()
		before := oneTraces(tds)
		for _, mode := range modes {
			requireSameTraces(t, mode, tds, decodeTraces(t, encodeTraces(t, tds, mode)))
			requireSameTraces(t, mode, tds, decodeTraces(t,
				encodeTraces(t, tds, mode, stef.WithCompression(stef.Zstd), stef.WithFrameBytes(300), stef.WithDictBytes(1000),
					stef.WithRestart(stef.RestartAll), stef.WithSchemaHeader()),
				stefpdata.WithMaxItems(3)))
			requireSameTraces(t, mode, tds, decodeTraces(t,
				encodeTraces(t, tds, mode, otelstef.CompactSpans(), stef.WithFrameBytes(300), stef.WithRestart(stef.RestartCodecs))))
		}
		requireSameTraces(t, stefpdata.Ordered, []ptrace.Traces{before}, []ptrace.Traces{oneTraces(tds)})
	}
	for seed := range uint64(300) {
		r := newRandom(seed)
		f([]ptrace.Traces{r.traces(), r.traces(), r.traces()})
	}
	for seed := range uint64(3) {
		r := newRandom(seed)
		f([]ptrace.Traces{r.manySpans(), r.manySpans()})
	}
}

func TestTraceStreamsAreDeterministic(t *testing.T) {
	for seed := range uint64(20) {
		r := newRandom(seed)
		tds := []ptrace.Traces{r.traces(), r.manySpans(), r.traces()}
		for _, mode := range modes {
			once := encodeTraces(t, tds, mode, stef.WithCompression(stef.Zstd))
			require.Equal(t, once, encodeTraces(t, tds, mode, stef.WithCompression(stef.Zstd)))
		}
	}
}

// The mode Sorted puts the spans of a trace together, in the order of their start times. If the traces
// of a batch have few spans each, it puts the spans with the same name together instead.
func TestOrderOfSortedSpans(t *testing.T) {
	f := func(want string, spans ...string) {
		t.Helper()
		td := ptrace.NewTraces()
		list := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for _, s := range spans { // name, trace, start
			span := list.AppendEmpty()
			span.SetName(s[:1])
			span.SetTraceID([16]byte{0: s[1]})
			span.SetStartTimestamp(1000 + timestamp(uint64(s[2])))
		}
		got := ""
		for _, td := range decodeTraces(t, encodeTraces(t, []ptrace.Traces{td}, stefpdata.Sorted)) {
			for _, span := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
				id := span.TraceID()
				got += " " + span.Name() + string(id[0]) + string(rune(span.StartTimestamp()-1000))
			}
		}
		require.Equal(t, want, got)
	}
	f(" aB1 bB1 bB3 bA2 aA4 aA5", "aA5", "aB1", "bB3", "bA2", "aA4", "bB1")
	f(" aA3 aB4 bA1 bC2", "aB4", "bC2", "aA3", "bA1")
	f("")
}

// The mode Sorted merges resources that differ only in the order of their attributes.
func TestSortedResourcesInAnyOrder(t *testing.T) {
	td := ptrace.NewTraces()
	for i := range 4 {
		rs := td.ResourceSpans().AppendEmpty()
		for k := range 2 {
			rs.Resource().Attributes().PutStr(string(rune('a'+(i+k)%2)), "v")
		}
		rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	}
	got := decodeTraces(t, encodeTraces(t, []ptrace.Traces{td}, stefpdata.Sorted))
	require.Equal(t, 1, got[0].ResourceSpans().Len())
	require.Equal(t, 4, got[0].SpanCount())
	got = decodeTraces(t, encodeTraces(t, []ptrace.Traces{td}, stefpdata.Ordered))
	require.Equal(t, 4, got[0].ResourceSpans().Len())
}

// With the published schema, encoders lose exactly the content that the package doc lists, and Losses
// counts all of it. With the full schema they lose only empty containers.
func TestLossesOfTraces(t *testing.T) {
	f := func(td ptrace.Traces, mode stefpdata.Mode, lose func(ptrace.Traces) stefpdata.Losses, options ...stef.WriterOption) {
		t.Helper()
		var out bytes.Buffer
		w, err := otelstef.NewSpansWriter(&out, options...)
		require.NoError(t, err)
		e := stefpdata.NewTracesEncoder(w, stefpdata.WithMode(mode))
		require.NoError(t, e.Encode(td))
		require.NoError(t, w.Close())
		want := oneTraces([]ptrace.Traces{td})
		require.Equal(t, lose(want), e.Losses())
		requireSameTraces(t, mode, []ptrace.Traces{want}, decodeTraces(t, out.Bytes()))
	}
	for seed := range uint64(100) {
		td := newRandom(seed).traces()
		for _, mode := range modes {
			f(td, mode, loseTraces, otelstef.PublishedSpans())
			f(td, mode, func(td ptrace.Traces) stefpdata.Losses {
				return stefpdata.Losses{EmptyContainers: emptyTraces(td)}
			})
		}
	}
}

// loseTraces removes the content that the published schema cannot carry from td, and counts it.
func loseTraces(td ptrace.Traces) stefpdata.Losses {
	losses := stefpdata.Losses{EmptyContainers: emptyTraces(td)}
	for _, rs := range td.ResourceSpans().All() {
		refs := entity.ResourceEntityRefs(rs.Resource())
		one := ptrace.NewTraces()
		rs.CopyTo(one.ResourceSpans().AppendEmpty())
		if one.SpanCount() > 0 {
			losses.EntityRefs += uint64(refs.Len())
		}
		refs.RemoveIf(func(entity.EntityRef) bool { return true })
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				if s.DroppedEventsCount() != 0 {
					losses.DroppedEvents++
				}
				if s.DroppedLinksCount() != 0 {
					losses.DroppedLinks++
				}
				s.SetDroppedEventsCount(0)
				s.SetDroppedLinksCount(0)
			}
		}
	}
	return losses
}

// emptyTraces counts resources without scopes and scopes without spans.
func emptyTraces(td ptrace.Traces) (n uint64) {
	for _, rs := range td.ResourceSpans().All() {
		if rs.ScopeSpans().Len() == 0 {
			n++
		}
		for _, ss := range rs.ScopeSpans().All() {
			if ss.Spans().Len() == 0 {
				n++
			}
		}
	}
	return n
}

// In the full schema ids are raw bytes. In the published schema they are text.
func TestIDsOnTheWire(t *testing.T) {
	f := func(want [3]string, span func(ptrace.Span), options ...stef.WriterOption) {
		t.Helper()
		td := ptrace.NewTraces()
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span(s)
		link := s.Links().AppendEmpty()
		link.SetTraceID(s.TraceID())
		link.SetSpanID(s.SpanID())
		for _, mode := range modes {
			r, err := otelstef.NewSpansReader(bytes.NewReader(encodeTraces(t, []ptrace.Traces{td}, mode, options...)))
			require.NoError(t, err)
			require.True(t, r.Next())
			got := r.Record().Span()
			require.Equal(t, want, [3]string{string(got.TraceID()), string(got.SpanID()), string(got.ParentSpanID())})
			require.Equal(t, want[:2], []string{string(got.Links().At(0).TraceID()), string(got.Links().At(0).SpanID())})
		}
	}
	set := func(s ptrace.Span) {
		s.SetTraceID([16]byte{0: 0xab, 15: 0x0f})
		s.SetSpanID([8]byte{0: 0xcd, 7: 0x0e})
		s.SetParentSpanID([8]byte{0: 1})
	}
	f([3]string{}, func(ptrace.Span) {})
	f([3]string{}, func(ptrace.Span) {}, otelstef.PublishedSpans())
	f([3]string{"\xab\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0f", "\xcd\x00\x00\x00\x00\x00\x00\x0e", "\x01\x00\x00\x00\x00\x00\x00\x00"}, set)
	f([3]string{"ab00000000000000000000000000000f", "cd0000000000000e", "0100000000000000"}, set, otelstef.PublishedSpans())
}

// An encoder that has seen all content of a batch allocates nothing for it.
func TestSteadyEncodeOfTracesAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the memory of sorted batches is in a sync.Pool, which drops objects at random under the race detector")
	}
	td := oneTraces(recordedTraces(t)[:20])
	for _, mode := range modes {
		var out bytes.Buffer
		w, err := otelstef.NewSpansWriter(&out)
		require.NoError(t, err)
		e := stefpdata.NewTracesEncoder(w, stefpdata.WithMode(mode))
		encode := func() {
			out.Reset()
			require.NoError(t, e.Encode(td))
			require.NoError(t, w.Flush())
		}
		for range 8 {
			encode()
		}
		require.Zero(t, testing.AllocsPerRun(5, encode), "%v", mode)
	}
}

func TestMaxItemsOfTraces(t *testing.T) {
	tds := recordedTraces(t)[:10]
	spans := 0
	for _, td := range decodeTraces(t, encodeTraces(t, tds, stefpdata.Ordered), stefpdata.WithMaxItems(7)) {
		require.LessOrEqual(t, td.SpanCount(), 7)
		require.NotZero(t, td.SpanCount())
		spans += td.SpanCount()
	}
	require.Equal(t, oneTraces(tds).SpanCount(), spans)
}
