// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// frames has the parts of an uncompressed stream: the headers, and the flags and the content of each
// frame. The content of a frame begins with the sizes of its columns.
type frames struct {
	head []byte
	list []frameParts
}

type frameParts struct {
	flags   byte
	content []byte
}

// cutFrames splits an uncompressed stream into its frames. It drops an incomplete frame at the end.
func cutFrames(stream []byte) (f frames) {
	// A stream begins with the fixed header, and the variable header, which is a frame.
	if len(stream) < 5 {
		return frames{head: stream}
	}
	size, n := binary.Uvarint(stream[4:])
	head := 4 + max(n, 0) + int(min(size, uint64(len(stream))))
	parts := cutList(stream[min(head, len(stream)):])
	if len(parts) == 0 {
		return frames{head: stream}
	}
	first := parts[0]
	return frames{head: append(bytes.Clone(stream[:head]), first.bytes()...), list: parts[1:]}
}

func cutList(b []byte) (list []frameParts) {
	for len(b) > 1 {
		size, n := binary.Uvarint(b[1:])
		if n <= 0 || size > uint64(len(b)-1-n) {
			break
		}
		end := 1 + n + int(size)
		list = append(list, frameParts{b[0], bytes.Clone(b[1+n : end])})
		b = b[end:]
	}
	return list
}

func (p *frameParts) bytes() []byte {
	return append(binary.AppendUvarint([]byte{p.flags}, uint64(len(p.content))), p.content...)
}

func (f *frames) bytes() []byte {
	stream := bytes.Clone(f.head)
	for i := range f.list {
		stream = append(stream, f.list[i].bytes()...)
	}
	return stream
}

// edit changes the frames. Each change has three bytes: the kind, the position, and a value.
// The sizes of frames stay correct, so a reader reads their content.
func (f *frames) edit(other *frames, changes []byte) {
	for ; len(changes) >= 3 && len(f.list) > 0; changes = changes[3:] {
		what, where, with := changes[0], int(changes[1]), changes[2]
		i := where % len(f.list)
		p := &f.list[i]
		at := 0
		if len(p.content) > 0 {
			at = where / len(f.list) % len(p.content) // near the beginning, because the sizes of columns are there
		}
		switch what % 9 {
		case 0: // a frame of the other stream, whose dictionaries differ
			if len(other.list) > 0 {
				q := other.list[int(with)%len(other.list)]
				f.list[i] = frameParts{q.flags, bytes.Clone(q.content)}
			}
		case 1: // repeat a frame
			f.list = slices.Insert(f.list, int(with)%len(f.list), frameParts{p.flags, bytes.Clone(p.content)})
		case 2:
			f.list = slices.Delete(f.list, i, i+1)
		case 3: // change whether dictionaries or codecs restart
			p.flags ^= 1 << (with % 3)
		case 4:
			if len(p.content) > 0 {
				p.content[at] = with
			}
		case 5:
			if len(p.content) > 0 {
				p.content[at] ^= 1 << (with % 8)
			}
		case 6:
			p.content = slices.Insert(p.content, at, with)
		case 7:
			p.content = p.content[:len(p.content)-min(int(with), len(p.content))]
		default: // replace the end by the end of a frame of the other stream
			if len(other.list) > 0 {
				q := other.list[int(with)%len(other.list)].content
				p.content = append(p.content[:at:at], q[min(at, len(q)):]...)
			}
		}
	}
}

// TestEditFrames: a stream that is split and joined again is unchanged, and each kind of
// edit changes the stream.
func TestEditFrames(t *testing.T) {
	for root := range byte(3) {
		var a, b recipe
		a[geneSignal], b[geneSignal], b[geneSeed] = root, root, 7
		for _, r := range []*recipe{&a, &b} {
			r[geneFrames], r[geneRecords], r[geneAttributes], r[geneText] = 60, 60, 60, 60
		}
		stream, other := a.cook(t), cutFrames(b.cook(t))
		f := cutFrames(stream)
		require.Greater(t, len(f.list), 1)
		require.Equal(t, stream, f.bytes())
		for what := range byte(9) {
			f = cutFrames(stream)
			f.list[0].content = append(f.list[0].content, 1) // so that the frames of the two streams differ
			before := f.bytes()
			f.edit(&other, []byte{what, 0, 5})
			require.NotEqual(t, before, f.bytes(), "%d", what)
		}
	}
}

// FuzzStream: for any stream of any signal, each decoded record is acknowledged or rejected once, no
// bytes remain admitted, and nothing panics. If the input has no genes, the stream is its raw bytes.
// With genes, a recipe writes a valid stream. Then frames of this stream are changed, and mixed with
// the frames of a second recipe.
func FuzzStream(f *testing.F) {
	for _, options := range [][]stef.WriterOption{nil, {stef.WithCompression(stef.Zstd)}, {otelstef.PublishedMetrics()}} {
		f.Add(byte(0), []byte{}, []byte{}, bytes.Join(chunksOf(f, []pmetric.Metrics{points(3), points(1)}, options...), nil))
		f.Add(byte(0), []byte{}, []byte{}, bytes.Join(chunksOf(f, []pmetric.Metrics{arrays(3)}, options...), nil))
	}
	for root := range byte(3) {
		for compact := range byte(2) {
			genes := bytes.Repeat([]byte{40}, genes)
			genes[geneCompact], genes[geneFlips] = compact, 0
			f.Add(root, genes, bytes.Repeat([]byte{70}, len(genes)), []byte{})
			f.Add(root, genes, genes, []byte{0, 1, 2, 5, 9, 1, 8, 0, 1})
			f.Add(root, genes, genes, []byte{3, 1, 0, 4, 4, 255, 6, 3, 7})
		}
	}
	f.Fuzz(func(t *testing.T, root byte, genes, second, data []byte) {
		stream := data
		if len(genes) > 0 {
			a, b := fuzzedRecipe(root, genes), fuzzedRecipe(root, second)
			parts, other := cutFrames(a.cook(t)), cutFrames(b.cook(t))
			parts.edit(&other, data[:min(len(data), 60)])
			stream = parts.bytes()
		}
		switch root % 3 {
		case 0:
			settleOnce(t, signal.Metrics, metricsOperation, stream)
		case 1:
			settleOnce(t, signal.Traces, tracesOperation, stream)
		default:
			settleOnce(t, signal.Logs, logsOperation, stream)
		}
	})
}

// fuzzedRecipe returns a recipe for a small stream without compression.
func fuzzedRecipe(root byte, genes []byte) *recipe {
	var r recipe
	copy(r[:], genes)
	r[geneSignal], r[geneZstd] = root%3, 0
	for _, gene := range []int{geneFrames, geneRecords, geneAttributes, geneText, geneNesting, geneResource, geneBuckets, geneParts, genePartAttributes, geneKey, geneRepeats, geneMetadata, geneEnvelope} {
		r[gene] = min(r[gene], 90)
	}
	return &r
}

func settleOnce[T any](t *testing.T, sig *signal.Descriptor[T], op operation, data []byte) {
	settings := receivertest.NewNopSettings(metadata.Type)
	settings.ID = component.NewID(metadata.Type)
	s, err := newShared(testConfig(func(c *Config) {
		c.Limits.MaxFrameMiB, c.Limits.MaxRecordAllocMiB = 1, 1
	}), settings)
	require.NoError(t, err)
	p, err := newPipe(sig, op, s.core, settings, func(context.Context, T) error { return nil })
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	transport := &fakeTransport{Reader: bytes.NewReader(data), ctx: ctx, settled: map[uint64]int{}}
	st := newStream(p, transport)
	err = st.serve()
	if err != nil {
		require.NotContains(t, err.Error(), "panicked")
	}
	inFlight, waiting := s.admission.state()
	require.Zero(t, inFlight)
	require.Zero(t, waiting)
	decoding, _ := s.decoding.state()
	require.Zero(t, decoding)
	require.Zero(t, st.unacked.Load())
	require.Len(t, transport.settled, int(st.records))
	for id, n := range transport.settled {
		require.Equal(t, 1, n, "record %d", id)
	}
}
