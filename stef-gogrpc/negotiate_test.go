// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// TestAgree negotiates a schema with servers that have equal, older, newer or other schemas. The
// server announces its schema, the client writes in the agreed schema, and the server reads the
// records.
//
// spec: #schema-decision
func TestAgree(t *testing.T) {
	client := otelstef.MetricsRoot()
	f := func(name string, wants schema.Compat, server *schema.Struct) {
		t.Run(name, func(t *testing.T) {
			b, err := schema.WireOf(server).AppendBinary(nil)
			require.NoError(t, err)
			a, err := agree(client, 1000, &wire.Capabilities{Schema: b})
			if wants == schema.Incompatible {
				var e *Error
				require.True(t, errors.As(err, &e))
				require.Equal(t, KindIncompatible, e.Kind)
				require.False(t, e.Retryable())
				var wire *schema.WireError
				require.True(t, errors.As(err, &wire))
				return
			}
			require.NoError(t, err)
			require.Equal(t, wants, a.compat)
			if wants == schema.Older {
				require.Equal(t, schema.WireOf(server), a.wire)
			} else {
				require.Equal(t, schema.WireOf(client), a.wire)
			}
			readBack(t, server, writeWith(t, a.writerOptions()), a.wire)
		})
	}
	published, err := schema.Keep(client, otelstef.MetricsBaseSchema())
	require.NoError(t, err)
	f("exact", schema.Exact, client)
	f("published", schema.Older, evolve(client, func(s *schema.Struct) int { return published.Of(s) - len(s.Fields) }))
	f("point without its last field", schema.Older, evolve(client, func(s *schema.Struct) int { return -one(s.Name == "Point") }))
	f("root with another field", schema.Newer, evolve(client, func(s *schema.Struct) int { return one(s.Root) }))
	f("point with two more", schema.Newer, evolve(client, func(s *schema.Struct) int { return 2 * one(s.Name == "Point") }))
	f("all with one more", schema.Newer, evolve(client, func(*schema.Struct) int { return 1 }))
	f("point with one more, exemplar with one less", schema.Incompatible,
		evolve(client, func(s *schema.Struct) int { return one(s.Name == "Point") - one(s.Name == "Exemplar") }))
	f("metric with one less, point with one more", schema.Incompatible,
		evolve(client, func(s *schema.Struct) int { return one(s.Name == "Point") - one(s.Name == "Metric") }))
	f("spans", schema.Incompatible, otelstef.SpansRoot())
	f("logs", schema.Incompatible, otelstef.LogsRoot())
}

// TestAgreePublished negotiates spans with a server that has the published schema,
// like the reference implementation.
func TestAgreePublished(t *testing.T) {
	b, err := otelstef.SpansBaseSchema().AppendBinary(nil)
	require.NoError(t, err)
	a, err := agree(otelstef.SpansRoot(), 1000, &wire.Capabilities{Schema: b})
	require.NoError(t, err)
	require.Equal(t, schema.Older, a.compat)
	var out bytes.Buffer
	w, err := otelstef.NewSpansWriter(&out, a.writerOptions()...)
	require.NoError(t, err)
	w.Record().Span().SetName("GET /")
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	r, err := otelstef.NewSpansReader(&out)
	require.NoError(t, err)
	require.Equal(t, otelstef.SpansBaseSchema(), r.Schema())
	require.True(t, r.Next())
	require.Equal(t, "GET /", r.Record().Span().Name())
}

func TestAgreeBadSchema(t *testing.T) {
	f := func(wants string, b []byte) {
		t.Helper()
		_, err := agree(otelstef.MetricsRoot(), 1000, &wire.Capabilities{Schema: b})
		var e *Error
		require.True(t, errors.As(err, &e))
		require.Equal(t, KindProtocol, e.Kind)
		require.ErrorContains(t, err, wants)
	}
	good, err := otelstef.MetricsSchema().AppendBinary(nil)
	require.NoError(t, err)
	f("no schema", nil)
	f("no schema", []byte{})
	f("cut off", []byte{0x80})
	f("overflows", bytes.Repeat([]byte{0xff}, 11))
	f("bytes follow", good[:len(good)-1])
	f("1 bytes follow", append(good, 0))
	f("the limit is 1024", []byte{0x81, 0x08})
	f("not a possible number", []byte{1, 0xff, 0xff, 0xff, 0xff, 0x7f})
}

// TestAgreeDictionaries: the lower of both ends' dictionary limits applies. 0 means no limit.
//
// spec: #dict-limit
func TestAgreeDictionaries(t *testing.T) {
	b, err := otelstef.MetricsSchema().AppendBinary(nil)
	require.NoError(t, err)
	f := func(wants, own int, server uint64) {
		t.Helper()
		a, err := agree(otelstef.MetricsRoot(), own, &wire.Capabilities{Schema: b, MaxDictBytes: server})
		require.NoError(t, err)
		config := steftest.WriterSettingsOf(t, a.writerOptions()...)
		require.Equal(t, wants, config.DictBytes)
	}
	f(1000, 1000, 0)
	f(1000, 1000, 1000)
	f(1000, 1000, 1001)
	f(999, 1000, 999)
	f(1, 1000, 1)
	f(1000, 1000, math.MaxUint64)
}

// TestAgreeWindows: if the server announces a maximum zstd window, the client uses no larger window.
// Otherwise, the client uses the window of its options.
//
// spec: #window-limit
func TestAgreeWindows(t *testing.T) {
	b, err := otelstef.MetricsSchema().AppendBinary(nil)
	require.NoError(t, err)
	f := func(wants int, server uint64, own ...stef.WriterOption) {
		t.Helper()
		a, err := agree(otelstef.MetricsRoot(), 1000, &wire.Capabilities{Schema: b, WindowBytes: server})
		require.NoError(t, err)
		require.Equal(t, wants, steftest.WriterSettingsOf(t, append(a.writerOptions(), own...)...).WindowBytes)
	}
	f(1<<20, 0)
	f(1<<10, 1)
	f(64<<10, 64<<10)
	f(64<<10, 128<<10-1)
	f(1<<20, math.MaxUint64)
	f(64<<10, 64<<10, stef.WithWindowBytes(4<<20))
	f(32<<10, 64<<10, stef.WithWindowBytes(32<<10))
	f(8<<20, math.MaxUint64, stef.WithWindowBytes(8<<20))

	for window, allowed := range map[int]bool{minWindow: true, minWindow / 2: false, maxWindow: true, maxWindow * 2: false} {
		_, err := otelstef.NewMetricsWriter(io.Discard, stef.WithWindowBytes(window))
		require.Equal(t, allowed, err == nil, window)
	}
}

// TestAskedWindow: a server with few streams announces no maximum zstd window. The more streams it
// has, the smaller is the maximum that it announces to the next client. So the memory of the windows
// grows slowly.
func TestAskedWindow(t *testing.T) {
	f := func(wants int, memory int64, streams int) {
		t.Helper()
		require.Equal(t, wants, askedWindow(memory, streams))
	}
	f(0, 0, 1_000_000)
	f(0, DefaultWindowMemoryBytes, 1)
	f(0, DefaultWindowMemoryBytes, 46)
	f(1<<20, DefaultWindowMemoryBytes, 47)
	f(1<<20, DefaultWindowMemoryBytes, 184)
	f(512<<10, DefaultWindowMemoryBytes, 185)
	f(64<<10, DefaultWindowMemoryBytes, 1024)
	f(32<<10, DefaultWindowMemoryBytes, 1025)
	f(32<<10, DefaultWindowMemoryBytes, 1_000_000)
	f(32<<10, 1, 1)
	all := int64(0)
	for n := range 1000 {
		window := cmp.Or(askedWindow(DefaultWindowMemoryBytes, n+1), 1<<20)
		all += windowMemory(window)
	}
	require.Less(t, all, int64(10*DefaultWindowMemoryBytes), "if all frames are large")
}

func writeWith(t *testing.T, options []stef.WriterOption) []byte {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, options...)
	require.NoError(t, err)
	for i := range 10 {
		rec := w.Record()
		rec.Metric().SetName([]string{"requests", "errors"}[i%2])
		rec.Point().SetTimestamp(uint64(i))
		rec.Point().Value().SetFloat64(float64(i) / 3)
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// readBack reads the records with the schema of the server. It uses package dynamic, an independent
// implementation of the format.
func readBack(t *testing.T, root *schema.Struct, b []byte, wire schema.WireSchema) {
	r, err := dynamic.NewReader(bytes.NewReader(b), root)
	require.NoError(t, err)
	require.Equal(t, wire, r.Kept().Wire(root))
	n := 0
	for r.Next() {
		text, err := dynamic.AppendJSON(nil, root, r.Kept(), r.Record())
		require.NoError(t, err)
		require.Contains(t, string(text), []string{"requests", "errors"}[n%2])
		n++
	}
	require.NoError(t, r.Err())
	require.Equal(t, 10, n)
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// evolve returns another version of a schema. change returns the number of fields to append to
// a struct or oneof. If the number is negative, that many of its last fields are removed.
func evolve(root *schema.Struct, change func(*schema.Struct) int) *schema.Struct {
	e := evolution{change, map[any]any{}}
	return e.structs(root)
}

type evolution struct {
	change func(*schema.Struct) int
	done   map[any]any
}

func (e *evolution) structs(s *schema.Struct) *schema.Struct {
	if s == nil {
		return nil
	}
	if done, ok := e.done[s]; ok {
		return done.(*schema.Struct)
	}
	version := *s
	e.done[s] = &version
	n := e.change(s)
	version.Fields = nil
	for _, f := range s.Fields[:min(len(s.Fields), len(s.Fields)+n)] {
		field := *f
		e.types(&field.Type)
		version.Fields = append(version.Fields, &field)
	}
	for range n {
		version.Fields = append(version.Fields, &schema.Field{Name: "Later", Type: schema.Type{Kind: schema.KindInt64}})
	}
	return &version
}

func (e *evolution) types(t *schema.Type) {
	t.Struct = e.structs(t.Struct)
	if t.Elem != nil {
		elem := *t.Elem
		t.Elem = &elem
		e.types(t.Elem)
	}
	if m := t.Multimap; m != nil {
		if done, ok := e.done[m]; ok {
			t.Multimap = done.(*schema.Multimap)
			return
		}
		version := *m
		e.done[m] = &version
		t.Multimap = &version
		e.types(&version.Key)
		e.types(&version.Value)
	}
}
