// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelstef/stef/internal/fixtures/recordings"
)

// wrap nests a message in the given fields. The first field is the outermost.
func wrap(message []byte, fields ...protowire.Number) []byte {
	for _, field := range slices.Backward(fields) {
		message = protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), message)
	}
	return message
}

// TestMemory: for requests full of any kind of message, the memory of pdata exceeds the counted
// memory by at most a quarter plus 256 KiB.
func TestMemory(t *testing.T) {
	type fields = []protowire.Number
	empty := func(field protowire.Number) []byte { return wrap(nil, field) }
	decoders := map[string]func([]byte) (any, error){
		Traces.Name:  func(b []byte) (any, error) { return Traces.Unmarshal(b) },
		Metrics.Name: func(b []byte) (any, error) { return Metrics.Unmarshal(b) },
		Logs.Name:    func(b []byte) (any, error) { return Logs.Unmarshal(b) },
	}
	counts := map[string]func([]byte) (int64, error){Traces.Name: Traces.OTLP.Memory, Metrics.Name: Metrics.OTLP.Memory, Logs.Name: Logs.OTLP.Memory}
	f := func(what, of string, part []byte, in fields) {
		t.Helper()
		body := wrap(bytes.Repeat(part, (1<<20)/len(part)), in...)
		counted, err := counts[of](body)
		require.NoError(t, err, what)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		batch, err := decoders[of](body)
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.NoError(t, err, what)
		live := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		runtime.KeepAlive(batch)
		runtime.KeepAlive(body)
		t.Logf("%s of %s: %.1f bytes for each byte, %.1f counted", what, of, float64(live)/float64(len(body)), float64(counted)/float64(len(body)))
		require.Less(t, live, counted+counted/4+1<<18, what)
	}
	point, attr := fields{1, 2, 2, 5, 1}, fields{1, 2, 2, 5, 1, 7}
	for of := range decoders {
		f("resources", of, empty(1), nil)
		f("scopes", of, empty(2), fields{1})
		f("scopes of older senders", of, empty(1000), fields{1})
		f("items", of, empty(2), fields{1, 2})
		f("attributes of resources", of, empty(1), fields{1, 1})
		f("entities", of, empty(3), fields{1, 1})
		f("keys of entities", of, empty(3), fields{1, 1, 3})
		f("attributes of scopes", of, empty(3), fields{1, 2, 1})
	}
	for kind, points := range map[string]protowire.Number{"gauge": 5, "sum": 7, "histogram": 9, "exponential histogram": 10, "summary": 11} {
		f("points of a "+kind, Metrics.Name, empty(1), fields{1, 2, 2, points})
		f("metrics with a "+kind, Metrics.Name, wrap(nil, 2, points), fields{1, 2})
	}
	f("metadata", Metrics.Name, empty(12), fields{1, 2, 2})
	f("exemplars", Metrics.Name, empty(5), point)
	f("exemplars of histograms", Metrics.Name, empty(8), fields{1, 2, 2, 9, 1})
	f("exemplars of exponential histograms", Metrics.Name, empty(11), fields{1, 2, 2, 10, 1})
	f("attributes of exemplars", Metrics.Name, empty(7), append(slices.Clone(point), 5))
	f("quantiles", Metrics.Name, empty(6), fields{1, 2, 2, 11, 1})
	f("packed buckets", Metrics.Name, wrap(make([]byte, 100), 2), fields{1, 2, 2, 10, 1, 8})
	f("buckets", Metrics.Name, []byte{2 << 3, 1}, fields{1, 2, 2, 10, 1, 9})
	f("bounds", Metrics.Name, wrap(make([]byte, 80), 7), fields{1, 2, 2, 9, 1})
	f("attributes", Metrics.Name, empty(7), point)
	f("attributes of histograms", Metrics.Name, empty(9), fields{1, 2, 2, 9, 1})
	f("attributes of exponential histograms", Metrics.Name, empty(1), fields{1, 2, 2, 10, 1})
	f("attributes of summaries", Metrics.Name, empty(7), fields{1, 2, 2, 11, 1})
	f("texts", Metrics.Name, wrap([]byte("x"), 7, 2, 1), point)
	f("maps", Metrics.Name, wrap(nil, 7, 2, 6), point)
	f("elements of arrays", Metrics.Name, empty(1), append(slices.Clone(attr), 2, 5))
	f("arrays in arrays", Metrics.Name, wrap(nil, 1, 5), append(slices.Clone(attr), 2, 5))
	f("maps in arrays", Metrics.Name, wrap(nil, 1, 6), append(slices.Clone(attr), 2, 5))
	f("pairs of maps", Metrics.Name, empty(1), append(slices.Clone(attr), 2, 6))
	f("attributes", Traces.Name, empty(9), fields{1, 2, 2})
	f("events", Traces.Name, empty(11), fields{1, 2, 2})
	f("attributes of events", Traces.Name, empty(3), fields{1, 2, 2, 11})
	f("links", Traces.Name, empty(13), fields{1, 2, 2})
	f("attributes of links", Traces.Name, empty(4), fields{1, 2, 2, 13})
	f("attributes", Logs.Name, empty(6), fields{1, 2, 2})
	f("elements of bodies", Logs.Name, empty(1), fields{1, 2, 2, 5, 5})
}

func deep(arrays int) []byte {
	var value []byte
	for range arrays {
		value = wrap(value, 5, 1)
	}
	return wrap(value, 1, 2, 2, 5, 1, 7, 2)
}

// TestMemoryRefuses checks that Memory refuses a request that pdata must not decode. It also
// refuses a request that pdata would interpret in a different way than Memory.
func TestMemoryRefuses(t *testing.T) {
	_, err := Metrics.OTLP.Memory(deep(500))
	require.NoError(t, err)
	_, err = Metrics.OTLP.Memory(deep(MaxNesting))
	require.ErrorIs(t, err, ErrNested)
	hidden := protowire.AppendVarint(nil, 1<<35|1<<3|2) // its lower 32 bits are the tag of field 1
	for what, body := range map[string][]byte{
		"a group":           {1<<3 | 3, 1<<3 | 4},
		"a number too high": append(hidden, 0),
		"number 0":          {2, 0},
		"no kind":           {1<<3 | 7},
		"a cut tag":         {0x80},
		"a cut length":      {1<<3 | 2, 0x80},
		"a cut message":     {1<<3 | 2, 5, 0},
		"a cut number":      {9<<3 | 5, 0},
	} {
		_, err := Metrics.OTLP.Memory(body)
		require.ErrorIs(t, err, errNoProtobuf, what)
	}
}

// simpleMemory computes the same as shape.contents, but with the library of protobuf and without the fast
// paths of shape.contents.
func simpleMemory(s *shape, b []byte, depth int) (n int64, err error) {
	if depth > MaxNesting {
		return 0, ErrNested
	}
	for len(b) > 0 {
		field, kind, head := protowire.ConsumeTag(b)
		if head < 0 || field > maxFieldNumber || kind == protowire.StartGroupType || kind == protowire.EndGroupType {
			return 0, errNoProtobuf
		}
		size := protowire.ConsumeFieldValue(field, kind, b[head:])
		if size < 0 {
			return 0, errNoProtobuf
		}
		if kind == protowire.BytesType {
			message, _ := protowire.ConsumeBytes(b[head:])
			child := s.field(uint64(field))
			switch {
			case child != nil:
				inner, err := simpleMemory(child, message, depth+1)
				if err != nil {
					return 0, err
				}
				n += child.bytes + inner
			case field == 2:
				n += s.number * int64(len(message))
			}
		} else if field == 2 {
			n += s.number * int64(size)
		}
		b = b[head+size:]
	}
	return n, nil
}

func requireSimple(t *testing.T, body []byte) {
	t.Helper()
	for _, s := range []*shape{metricsRequest, tracesRequest, logsRequest} {
		n, err := s.memory(body)
		want, wantErr := simpleMemory(s, body, 0)
		require.Equal(t, wantErr, err)
		if err == nil {
			require.Equal(t, want+int64(len(body)), n)
		}
	}
}

// TestMemoryIsExact checks that Memory and simpleMemory return the same for the recordings.
func TestMemoryIsExact(t *testing.T) {
	for _, recording := range recordings.All() {
		parts, err := recording.Parts()
		require.NoError(t, err)
		for _, part := range parts {
			requireSimple(t, part)
		}
	}
}

// FuzzMemory: the fast paths change no result, and pdata does not panic at a request that
// Memory accepts.
func FuzzMemory(f *testing.F) {
	body, err := Metrics.Marshal(gauge(3))
	require.NoError(f, err)
	f.Add(body)
	f.Add(deep(20))
	for _, value := range [][]byte{
		{1<<3 | 2, 1, 'x'}, {7<<3 | 2, 0}, {2 << 3, 1}, {3 << 3, 0xff, 1}, {3 << 3, 0x80}, append([]byte{4<<3 | 1}, make([]byte, 8)...),
		{1<<3 | 2, 0x85, 0}, {5<<3 | 2, 0}, {1<<3 | 2, 1, 'x', 2 << 3, 1}, {0x80 | 2<<3, 0, 1}, {},
	} {
		pair := append(wrap([]byte("key"), 1), wrap(value, 2)...)
		f.Add(wrap(pair, 1, 2, 2, 6))
		f.Add(wrap(pair, 1, 1, 1))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		requireSimple(t, body)
		n, err := Metrics.OTLP.Memory(body)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, n, int64(len(body)))
		_, _ = Metrics.Unmarshal(body)
	})
}
