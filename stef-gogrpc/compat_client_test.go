// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// referenceClient behaves like a client of the reference implementation: it sends one message for
// each chunk, with IsEndOfChunk set. It sends and receives messages as plain bytes.
type referenceClient struct {
	grpc.ClientStream
	t      testing.TB
	cancel context.CancelFunc
}

// serveGRPC serves on an in-memory listener and returns a connection to it.
func serveGRPC(t testing.TB, g *grpc.Server, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	options = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
	}, options...)
	conn, err := grpc.NewClient("passthrough:///memory", options...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		g.Stop()
		require.NoError(t, <-served)
	})
	return conn
}

func call(t testing.TB, conn *grpc.ClientConn) *referenceClient {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t, 20*time.Second))
	t.Cleanup(cancel)
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		"/STEFDestination/Stream", grpc.ForceCodecV2(rawCodec()))
	require.NoError(t, err)
	return &referenceClient{ClientStream: stream, t: t, cancel: cancel}
}

func (c *referenceClient) say(message []byte) {
	c.t.Helper()
	// io.EOF means that the stream has ended; hear returns the reason.
	if err := c.SendMsg(&message); err != io.EOF {
		require.NoError(c.t, err)
	}
}

func (c *referenceClient) hear() ([]byte, error) {
	var message []byte
	err := c.RecvMsg(&message)
	return message, err
}

// served describes what a handler of these tests received on a stream.
type served struct {
	bytes   []byte
	wire    schema.WireSchema
	records uint64
}

// decoding returns a handler that reads records and acknowledges each frame. At the end of a stream,
// the handler sends a description of the received data to the channel saw.
func decoding(saw chan<- served) stefgrpc.HandlerFunc {
	return func(s *stefgrpc.ServerStream) error {
		var seen bytes.Buffer
		result := served{}
		defer func() {
			result.bytes = seen.Bytes()
			saw <- result
		}()
		r, err := openReader(s.Root().Name, io.TeeReader(s, &seen), s.ReaderOptions()...)
		if err != nil {
			return err
		}
		result.wire = r.Schema()
		for r.Next() {
			result.records++
			if r.BufferedRecords() == 0 {
				s.AckUpTo(result.records)
			}
		}
		return r.Err()
	}
}

func serveRoots(t testing.TB, h stefgrpc.Handler, wire func(root string) schema.WireSchema) *grpc.ClientConn {
	t.Helper()
	conn, _ := serveRootsWith(t, h, wire)
	return conn
}

func serveRootsWith(t testing.TB, h stefgrpc.Handler, wire func(root string) schema.WireSchema,
	options ...stefgrpc.ServerOption) (*grpc.ClientConn, *stefgrpc.Server) {
	t.Helper()
	s, err := stefgrpc.NewServer(options...)
	require.NoError(t, err)
	for _, root := range []string{"Metrics", "Spans", "Logs"} {
		require.NoError(t, s.Handle(rootOf(root), h, stefgrpc.WithAdvertisedSchema(wire(root))))
	}
	g := grpc.NewServer()
	s.Register(g)
	conn := serveGRPC(t, g)
	t.Cleanup(func() {
		_ = s.Shutdown(within(t, time.Second))
		stats := s.Stats()
		require.Zero(t, stats.Streams)
		require.Zero(t, stats.BufferedBytes)
	})
	return conn, s
}

// TestCompatClientConversation sends the messages of the client in the example conversation of the
// specification, and compares each byte of the server's answers.
func TestCompatClientConversation(t *testing.T) {
	handler := stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		head := make([]byte, 7)
		if _, err := io.ReadFull(s, head); err != nil {
			return err
		}
		if string(head) != "STEF\x02\x00\x00" {
			return status.Errorf(codes.DataLoss, "got %q", head)
		}
		s.Ack(3, 300)
		s.Reject(1, 2)
		_, err := io.Copy(io.Discard, s)
		return err
	})
	conn, _ := serveRootsWith(t, handler, publishedWire, stefgrpc.WithMaxDictBytes(1000))
	c := call(t, conn)
	c.say(fromHex(t, "0a090a074d657472696373"))
	message, err := c.hear()
	require.NoError(t, err)
	require.Equal(t, fromHex(t, "0a170a0310e80712100f060108070305040505090203020502"), message)
	c.say(fromHex(t, "1207535445460200001801"))
	message, err = c.hear()
	require.NoError(t, err)
	require.Equal(t, fromHex(t, "120908ac02120408011002"), message)
	require.NoError(t, c.CloseSend())
	message, err = c.hear()
	require.Equal(t, io.EOF, err, "%x", message)
}

// converse sends a whole stream, message by message, like a client of the reference implementation.
// It returns the last acknowledged record id.
func converse(t *testing.T, conn *grpc.ClientConn, root string, want []byte, messages [][]byte) uint64 {
	t.Helper()
	c := call(t, conn)
	c.say(firstMessage(root))
	message, err := c.hear()
	require.NoError(t, err)
	require.Equal(t, want, message)
	for _, m := range messages {
		c.say(m)
	}
	require.NoError(t, c.CloseSend())
	var acked uint64
	for {
		message, err := c.hear()
		if err == io.EOF {
			return acked
		}
		require.NoError(t, err)
		id := acknowledged(t, message)
		require.Greater(t, id, acked)
		acked = id
	}
}

func wholeChunks(t testing.TB, stream []byte) [][]byte {
	var messages [][]byte
	for _, chunk := range splitChunks(t, stream) {
		messages = append(messages, chunkMessage(chunk, true))
	}
	return messages
}

func TestCompatClientStreams(t *testing.T) {
	run := func(t *testing.T, samples []sample) {
		saw := make(chan served, 1)
		conn := serveRoots(t, decoding(saw), publishedWire)
		for _, s := range samples {
			capabilities := capabilitiesMessage(number(nil, 2, stefgrpc.DefaultMaxDictBytes), publishedWire(s.root))
			acked := converse(t, conn, s.root, capabilities, wholeChunks(t, s.bytes))
			got := <-saw
			require.True(t, bytes.Equal(s.bytes, got.bytes), s.name)
			require.Equal(t, s.records, got.records, s.name)
			require.Equal(t, s.records, acked, s.name)
		}
	}
	t.Run("own", func(t *testing.T) { run(t, ownSamples(t)) })
	t.Run("golden", func(t *testing.T) { run(t, goldenSamples(t, "edge")) })
	t.Run("data", func(t *testing.T) {
		samples := goldenSamples(t, "data")
		if testing.Short() {
			samples = samples[:2]
		}
		run(t, samples)
	})
}

// TestCompatClientCuts splits streams into messages in ways that the protocol allows, but that the
// reference implementation never uses.
func TestCompatClientCuts(t *testing.T) {
	f := func(name string, cut func(t *testing.T, stream []byte) [][]byte) {
		t.Run(name, func(t *testing.T) {
			saw := make(chan served, 1)
			conn := serveRoots(t, decoding(saw), publishedWire)
			for _, s := range ownSamples(t)[:10] {
				capabilities := capabilitiesMessage(number(nil, 2, stefgrpc.DefaultMaxDictBytes), publishedWire(s.root))
				acked := converse(t, conn, s.root, capabilities, cut(t, s.bytes))
				got := <-saw
				require.True(t, bytes.Equal(s.bytes, got.bytes), s.name)
				require.Equal(t, s.records, got.records, s.name)
				require.Equal(t, s.records, acked, s.name)
			}
		})
	}
	f("each byte a message", func(t *testing.T, stream []byte) (messages [][]byte) {
		for _, chunk := range splitChunks(t, stream) {
			for i := range chunk {
				messages = append(messages, chunkMessage(chunk[i:i+1], i == len(chunk)-1))
			}
		}
		return messages
	})
	f("flags on their own", func(t *testing.T, stream []byte) (messages [][]byte) {
		messages = append(messages, chunkMessage(nil, true), chunkMessage(nil, false))
		for _, chunk := range splitChunks(t, stream) {
			messages = append(messages, chunkMessage(chunk, false), chunkMessage(nil, false), chunkMessage(nil, true))
		}
		return messages
	})
	f("everything in one message", func(t *testing.T, stream []byte) [][]byte {
		return [][]byte{chunkMessage(stream, true)}
	})
	f("fields in another order, unknown ones among them", func(t *testing.T, stream []byte) (messages [][]byte) {
		for _, chunk := range splitChunks(t, stream) {
			m := number(nil, 3, 1)
			m = field(m, 100, []byte("unknown"))
			messages = append(messages, number(field(m, 2, chunk), 4, 7))
		}
		return messages
	})
}

// The server announces an older schema, but it can also read its own schema, which is newer. The
// client has a schema that is newer than the announced schema. Clients of the reference
// implementation then ignore the announced schema and write their own schema. The server accepts a
// schema that is not newer than its own. It refuses a newer schema, and sends the reason.
func TestCompatClientNewer(t *testing.T) {
	saw := make(chan served, 1)
	conn := serveRoots(t, decoding(saw), publishedWire)

	stream := writeDynamic(t, rootOf("Metrics"), 3)
	acked := converse(t, conn, "Metrics",
		capabilitiesMessage(number(nil, 2, stefgrpc.DefaultMaxDictBytes), publishedWire("Metrics")), wholeChunks(t, stream))
	require.Equal(t, uint64(3), acked)
	require.Equal(t, otelstef.MetricsSchema(), (<-saw).wire)

	newer := *rootOf("Metrics")
	newer.Fields = append(newer.Fields[:len(newer.Fields):len(newer.Fields)],
		&schema.Field{Name: "Later", Type: schema.Type{Kind: schema.KindUint64}})
	c := call(t, conn)
	c.say(firstMessage("Metrics"))
	_, err := c.hear()
	require.NoError(t, err)
	for _, m := range wholeChunks(t, writeDynamic(t, &newer, 3)) {
		c.say(m)
	}
	_, err = c.hear()
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	require.Equal(t, stefgrpc.ReasonSchema, stefgrpc.Reason(err))
	<-saw
}

// writeDynamic writes a stream of empty records in the newest schema of a root. The header has
// the schema.
func writeDynamic(t testing.TB, root *schema.Struct, records int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, root, dynamic.WithSchemaHeader())
	require.NoError(t, err)
	for range records {
		require.NoError(t, w.Write(dynamic.NewStruct(root)))
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// A client of the reference implementation does not half-close its stream: it disconnects. The server
// has acknowledged all flushed records before, so none is lost.
func TestCompatClientGoesAway(t *testing.T) {
	saw := make(chan served, 1)
	conn := serveRoots(t, decoding(saw), publishedWire)
	s := ownSamples(t)[0]
	c := call(t, conn)
	c.say(firstMessage(s.root))
	_, err := c.hear()
	require.NoError(t, err)
	for _, m := range wholeChunks(t, s.bytes) {
		c.say(m)
	}
	for acked := uint64(0); acked < s.records; {
		message, err := c.hear()
		require.NoError(t, err)
		acked = acknowledged(t, message)
	}
	c.cancel()
	require.Equal(t, s.records, (<-saw).records)
}

// If a stream ends within a frame, none of the frame's records is decoded or acknowledged. This holds
// wherever the frame is cut, and however the stream ends.
func TestHalfAFrameIsNothing(t *testing.T) {
	f := func(name string, zstd bool, end func(c *referenceClient, s *stefgrpc.Server)) {
		t.Run(name, func(t *testing.T) {
			options := []dynamic.WriterOption{dynamic.WithSchemaHeader()}
			if zstd {
				options = append(options, dynamic.WithCompression(dynamic.Zstd))
			}
			var out bytes.Buffer
			w, err := dynamic.NewWriter(&out, rootOf("Metrics"), options...)
			require.NoError(t, err)
			for frame := range 2 {
				for range 3 + frame {
					require.NoError(t, w.Write(dynamic.NewStruct(rootOf("Metrics"))))
				}
				require.NoError(t, w.Flush())
			}
			chunks := splitChunks(t, out.Bytes())
			require.Len(t, chunks, 4)
			last := chunks[3]
			saw := make(chan served, 1)
			full := func(root string) schema.WireSchema { return schema.WireOf(rootOf(root)) }
			conn, server := serveRootsWith(t, decoding(saw), full)
			for cut := 1; cut < len(last); cut += 1 + len(last)/20 {
				c := call(t, conn)
				c.say(firstMessage("Metrics"))
				_, err := c.hear()
				require.NoError(t, err)
				for _, chunk := range chunks[:3] {
					c.say(chunkMessage(chunk, true))
				}
				message, err := c.hear()
				require.NoError(t, err)
				require.Equal(t, uint64(3), acknowledged(t, message))
				c.say(chunkMessage(last[:cut], cut%2 == 0)) // the flag makes no difference
				end(c, server)
				_, err = c.hear()
				require.Error(t, err, "an answer to half a frame")
				require.NotEqual(t, io.EOF, err, "a graceful end")
				require.Equal(t, uint64(3), (<-saw).records, "cut at %d of %d", cut, len(last))
			}
		})
	}
	halfClose := func(c *referenceClient, _ *stefgrpc.Server) { require.NoError(c.t, c.CloseSend()) }
	goAway := func(c *referenceClient, _ *stefgrpc.Server) {
		time.Sleep(time.Millisecond)
		c.cancel()
	}
	f("half-close", false, halfClose)
	f("half-close, zstd", true, halfClose)
	f("cancel", false, goAway)
	f("cancel, zstd", true, goAway)
}
