// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// The race detector allocates memory of its own.
//go:build !race

package stefgrpc_test

import (
	"context"
	"io"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/otelstef/stef/internal/netfault"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// The tests compare idle streams with streams of plain gRPC. One client, which
// does not use this package, opens the same number of streams, sends the same
// messages and gets the same answers: once from a server of this package, once
// from a handler that only receives. The difference is the memory that our server
// adds.

const (
	idleStreams = 5000
	idleConns   = 5
)

// idleCase describes what the streams sent before they became idle.
type idleCase struct {
	name    string
	data    func(tb testing.TB) [][]byte // chunks that each stream sends
	streams int
	most    float64 // maximum bytes per stream in addition to the bytes of plain gRPC
}

// 5,000 open streams without records, and their readers, may together use 100 MiB. With records,
// most memory of a reader is the zstd window. The sender chooses the size of the window, and the
// receiver keeps the window until the compression restarts.
var idleCases = []idleCase{
	{"opened", func(testing.TB) [][]byte { return nil }, idleStreams, 100 << 20 / idleStreams},
	{"records", func(tb testing.TB) [][]byte { return idleChunks(tb) }, idleStreams, 32 << 10},
	{"zstd-64KiB", func(tb testing.TB) [][]byte {
		return idleChunks(tb, stef.WithCompression(stef.Zstd), stef.WithWindowBytes(64<<10))
	}, idleStreams / 10, 600 << 10},
	{"zstd-1MiB", func(tb testing.TB) [][]byte {
		return idleChunks(tb, stef.WithCompression(stef.Zstd), stef.WithWindowBytes(1<<20))
	}, idleStreams / 10, 1600 << 10},
}

func idleChunks(tb testing.TB, options ...stef.WriterOption) [][]byte {
	var chunks chunkList
	w, err := otelstef.NewLogsWriter(&chunks, options...)
	require.NoError(tb, err)
	for n := range uint64(100) {
		fillNumber(w.Record().Record(), n)
		require.NoError(tb, w.Write())
	}
	require.NoError(tb, w.Flush())
	return chunks
}

// idleHandler reads until the stream ends, and counts the frames it has read.
func idleHandler(frames *atomic.Int64) stefgrpc.Handler {
	return stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewLogsReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			if r.BufferedRecords() == 0 {
				s.AckUpTo(r.Stats().Records)
				frames.Add(1)
			}
		}
		return r.Err()
	})
}

// bareServer is a plain gRPC server. It sends the same answers as a server of this package, and
// discards all received data.
func bareServer(tb testing.TB, frames *atomic.Int64, chunks int) *grpc.ServiceDesc {
	hello := idleHello(tb)
	return &grpc.ServiceDesc{
		ServiceName: stefgrpc.ServiceName, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: "Stream", ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, s grpc.ServerStream) error {
				for n := 0; ; n++ {
					m := new(stefpb.STEFClientMessage)
					err := s.RecvMsg(m)
					switch {
					case err == io.EOF:
						return nil
					case err != nil:
						return err
					case n == 0:
						err = s.SendMsg(hello)
					case n == chunks:
						err = s.SendMsg(&stefpb.STEFServerMessage{Content: &stefpb.STEFServerMessage_Response{
							Response: &stefpb.STEFDataResponse{AckRecordId: 100}}})
						frames.Add(1)
					}
					if err != nil {
						return err
					}
				}
			},
		}},
	}
}

func idleHello(tb testing.TB) proto.Message {
	wire, err := otelstef.LogsSchema().AppendBinary(nil)
	require.NoError(tb, err)
	return &stefpb.STEFServerMessage{Content: &stefpb.STEFServerMessage_Capabilities{
		Capabilities: &stefpb.STEFDestinationCapabilities{Schema: wire}}}
}

// idleMemory returns how many bytes of memory the process needs for the streams: the memory while
// they are open minus the memory before.
func idleMemory(tb testing.TB, c idleCase, streams int, ours bool) float64 {
	chunks := c.data(tb)
	network, err := netfault.NewMemory(netfault.Link{})
	require.NoError(tb, err)
	defer network.Close()
	var frames atomic.Int64
	server := grpc.NewServer()
	if ours {
		server = grpc.NewServer()
		s, err := stefgrpc.NewServer()
		require.NoError(tb, err)
		require.NoError(tb, s.Handle(otelstef.LogsRoot(), idleHandler(&frames)))
		s.Register(server)
	} else {
		server.RegisterService(bareServer(tb, &frames, len(chunks)), nil)
	}
	defer server.Stop()
	l, err := network.Listen()
	require.NoError(tb, err)
	go server.Serve(l)

	before := memory()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	held := make([]grpc.ClientStream, 0, streams)
	for range idleConns {
		conn, err := grpc.NewClient("passthrough:///memory", grpc.WithContextDialer(network.Dial),
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(tb, err)
		defer conn.Close()
		for range streams / idleConns {
			held = append(held, idleStream(ctx, tb, conn, chunks))
		}
	}
	if len(chunks) > 0 {
		require.Eventually(tb, func() bool { return frames.Load() == int64(len(held)) }, time.Minute, time.Millisecond)
	}
	after := memory()
	runtime.KeepAlive(held)
	return after - before
}

// idleStream opens a stream without the client of this package, and sends the chunks.
func idleStream(ctx context.Context, tb testing.TB, conn *grpc.ClientConn, chunks [][]byte) grpc.ClientStream {
	desc := &grpc.StreamDesc{StreamName: "Stream", ServerStreams: true, ClientStreams: true}
	s, err := conn.NewStream(ctx, desc, stefgrpc.StreamMethod)
	require.NoError(tb, err)
	hello := &stefpb.STEFClientMessage{FirstMessage: &stefpb.STEFClientFirstMessage{RootStructName: otelstef.LogsRootName}}
	require.NoError(tb, s.SendMsg(hello))
	require.NoError(tb, s.RecvMsg(new(stefpb.STEFServerMessage)))
	for _, chunk := range chunks {
		require.NoError(tb, s.SendMsg(&stefpb.STEFClientMessage{StefBytes: chunk, IsEndOfChunk: true}))
	}
	if len(chunks) > 0 {
		require.NoError(tb, s.RecvMsg(new(stefpb.STEFServerMessage)))
	}
	return s
}

// memory returns the bytes of objects and stacks of the process.
func memory() float64 {
	for range 3 { // the second collection empties pools
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// TestIdleStreams opens a tenth of the streams; in long runs it opens all of them.
func TestIdleStreams(t *testing.T) {
	for _, c := range idleCases {
		t.Run(c.name, func(t *testing.T) {
			if !long() {
				c.streams /= 10
			}
			// Memory of earlier tests may be released during a measurement.
			for try := 1; ; try++ {
				bare, ours := idleMemory(t, c, c.streams, false), idleMemory(t, c, c.streams, true)
				each := (ours - bare) / float64(c.streams)
				t.Logf("%d streams: gRPC %.1f MiB, ours %.1f MiB, beyond %.1f KiB per stream", c.streams, bare/(1<<20), ours/(1<<20), each/1024)
				if bare > 0 && each > 0 && each < c.most {
					return
				}
				require.Less(t, try, 5)
			}
		})
	}
}

func BenchmarkIdle(b *testing.B) {
	for _, c := range idleCases {
		b.Run("streams="+strconv.Itoa(c.streams)+"/after="+c.name, func(b *testing.B) {
			var bare, ours float64
			for range b.N {
				bare += idleMemory(b, c, c.streams, false)
				ours += idleMemory(b, c, c.streams, true)
			}
			n := float64(b.N) * (1 << 20)
			b.ReportMetric(bare/n, "grpc-MiB")
			b.ReportMetric(ours/n, "stef-MiB")
			b.ReportMetric((ours-bare)/n, "beyond-MiB")
		})
	}
}
