// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// The tests in compat_*_test.go act as a client or a server of the reference implementation. They
// build and check the bytes of each message without the code of this package. They do not run the
// reference implementation: its messages are known from sections 10 and 14.3 of the specification
// and from streams that it wrote.

// raw is a codec that does not change the bytes of messages.
type raw struct{}

func rawCodec() encoding.CodecV2 { return raw{} }

func (raw) Name() string { return "proto" }

func (raw) Marshal(m any) (mem.BufferSlice, error) {
	b, ok := m.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no message of bytes", m)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, m any) error {
	b, ok := m.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no message of bytes", m)
	}
	*b = data.Materialize()
	return nil
}

func fromHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

func field(b []byte, n protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), value)
}

func number(b []byte, n protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), value)
}

func firstMessage(root string) []byte { return field(nil, 1, field(nil, 1, []byte(root))) }

func chunkMessage(chunk []byte, end bool) []byte {
	var b []byte
	if len(chunk) > 0 {
		b = field(b, 2, chunk)
	}
	if end {
		b = number(b, 3, 1)
	}
	return b
}

// capabilitiesMessage returns the first message of a server. Like the reference implementation, it
// includes the message of limits even if that message is empty.
func capabilitiesMessage(limits []byte, wire schema.WireSchema) []byte {
	b, err := wire.AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	var c []byte
	if limits != nil {
		c = field(c, 1, limits)
	}
	return field(nil, 1, field(c, 2, b))
}

func responseMessage(acked uint64, bad ...[2]uint64) []byte {
	var r []byte
	if acked > 0 {
		r = number(r, 1, acked)
	}
	for _, ids := range bad {
		var one []byte
		for i, id := range ids {
			if id > 0 {
				one = number(one, protowire.Number(i+1), id)
			}
		}
		r = field(r, 2, one)
	}
	return field(nil, 2, r)
}

// acknowledged returns the acknowledged record id in a response, which must contain nothing else.
func acknowledged(t testing.TB, message []byte) uint64 {
	t.Helper()
	require.NotEmpty(t, message)
	require.Equal(t, byte(0x12), message[0], "a later message of a server is a response: %x", message)
	inner, n := protowire.ConsumeBytes(message[1:])
	require.Equal(t, len(message)-1, n)
	require.NotEmpty(t, inner)
	require.Equal(t, byte(0x08), inner[0], "%x", message)
	id, n := protowire.ConsumeVarint(inner[1:])
	require.Equal(t, len(inner)-1, n)
	return id
}

func TestCompatSamples(t *testing.T) {
	f := func(want string, have []byte) {
		t.Helper()
		require.Equal(t, fromHex(t, want), have)
	}
	f("0a09 0a07 4d657472696373", firstMessage("Metrics"))
	f("0a17 0a03 10e807 1210 0f060108070305040505090203020502",
		capabilitiesMessage(number(nil, 2, 1000), otelstef.MetricsBaseSchema()))
	f("1207 53544546020000 1801", chunkMessage(fromHex(t, "53544546020000"), true))
	f("1209 08ac02 1204 0801 1002", responseMessage(300, [2]uint64{1, 2}))
}

// splitChunks returns the fixed header, the variable header and the frames of a
// stream.
func splitChunks(t testing.TB, stream []byte) [][]byte {
	t.Helper()
	at := 4
	uvarint := func() int {
		v, n := binary.Uvarint(stream[at:])
		require.Positive(t, n)
		at += n
		return int(v)
	}
	at += uvarint()
	chunks := [][]byte{stream[:at]}
	compressed := stream[6]&3 != 0
	for at < len(stream) {
		from := at
		at++
		size := uvarint()
		if compressed {
			size = uvarint()
		}
		at += size
		require.LessOrEqual(t, at, len(stream))
		chunks = append(chunks, stream[from:at])
	}
	return chunks
}

type sample struct {
	name, root string
	bytes      []byte
	records    uint64
}

// ownSamples are the test vectors of this repository.
func ownSamples(t testing.TB) []sample {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(teltest.Root(t), "stef-spec", "vectors", "*.stef"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var list []sample
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".stef")
		stream, err := os.ReadFile(path)
		require.NoError(t, err)
		records, err := os.ReadFile(strings.TrimSuffix(path, ".stef") + ".json")
		require.NoError(t, err)
		signal, _, _ := strings.Cut(name, "_")
		list = append(list, sample{
			name: name, root: map[string]string{"metrics": "Metrics", "spans": "Spans", "logs": "Logs"}[signal],
			bytes: stream, records: uint64(bytes.Count(records, []byte("\n"))),
		})
	}
	return list
}

// goldenSamples are streams that the reference implementation wrote.
func goldenSamples(t testing.TB, folder string) []sample {
	t.Helper()
	var list []sample
	for _, v := range teltest.Vectors(t, folder) {
		if v.ReferenceError != "" {
			continue
		}
		root, records := v.Root, v.Records
		if root == "" {
			root, records = v.Canonical.Root, v.Canonical.Records
		}
		list = append(list, sample{
			name: v.Name, root: map[string]string{"metrics": "Metrics", "spans": "Spans"}[root],
			bytes: v.Stream(t), records: records,
		})
	}
	require.NotEmpty(t, list)
	return list
}

type recordReader interface {
	Next() bool
	Err() error
	BufferedRecords() uint64
	Stats() stef.ReaderStats
	Schema() schema.WireSchema
}

func rootOf(name string) *schema.Struct {
	switch name {
	case "Metrics":
		return otelstef.MetricsRoot()
	case "Spans":
		return otelstef.SpansRoot()
	}
	return otelstef.LogsRoot()
}

// publishedWire returns the schema that the reference implementation has for a root.
func publishedWire(root string) schema.WireSchema {
	switch root {
	case "Metrics":
		return otelstef.MetricsBaseSchema()
	case "Spans":
		return otelstef.SpansBaseSchema()
	}
	return otelstef.LogsSchema()
}

func openReader(root string, src io.Reader, options ...stef.ReaderOption) (recordReader, error) {
	switch root {
	case "Metrics":
		return otelstef.NewMetricsReader(src, options...)
	case "Spans":
		return otelstef.NewSpansReader(src, options...)
	case "Logs":
		return otelstef.NewLogsReader(src, options...)
	}
	return nil, errors.New("no such root")
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
