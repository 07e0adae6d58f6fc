// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// referenceServer behaves like a server of the reference implementation: it collects the messages of
// a chunk up to IsEndOfChunk, processes only whole chunks, and does not check the name of the root.
// It sends and receives messages as plain bytes.
type referenceServer struct {
	grpc.ServerStream
	first []byte
}

// serveReference starts a referenceServer and returns a client of this package that is connected to
// it. script runs for each stream, after the first message of the client.
func serveReference(t testing.TB, script func(s *referenceServer) error, options ...stefgrpc.ClientOption) *stefgrpc.Client {
	t.Helper()
	g := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec()), grpc.UnknownServiceHandler(
		func(_ any, stream grpc.ServerStream) error {
			if method, _ := grpc.MethodFromServerStream(stream); method != "/STEFDestination/Stream" {
				return status.Error(codes.Unimplemented, method)
			}
			s := &referenceServer{ServerStream: stream}
			if err := stream.RecvMsg(&s.first); err != nil {
				return err
			}
			return script(s)
		}))
	client, err := stefgrpc.NewClient(serveGRPC(t, g), options...)
	require.NoError(t, err)
	return client
}

func (s *referenceServer) say(message []byte) error { return s.SendMsg(&message) }

func (s *referenceServer) hear() ([]byte, error) {
	var m []byte
	err := s.RecvMsg(&m)
	return m, err
}

// chunk collects the messages of a chunk, up to and including the message with the field
// is_end_of_chunk. A message must have no other fields than this field and the bytes, and must not
// be larger than largest.
func (s *referenceServer) chunk(largest int) ([]byte, error) {
	var chunk []byte
	for {
		m, err := s.hear()
		if err != nil {
			return chunk, err
		}
		if len(m) > largest {
			return nil, status.Errorf(codes.ResourceExhausted, "message of %d bytes", len(m))
		}
		flag := false
		for len(m) > 0 {
			n, wire, size := protowire.ConsumeTag(m)
			m = m[max(size, 0):]
			switch {
			case n == 2 && wire == protowire.BytesType:
				b, size := protowire.ConsumeBytes(m)
				chunk, m = append(chunk, b...), m[max(size, 0):]
			case n == 3 && wire == protowire.VarintType && m[0] == 1:
				flag, m = true, m[1:]
			default:
				return nil, status.Errorf(codes.InvalidArgument, "field %d in %x", n, m)
			}
		}
		if flag {
			return chunk, nil
		}
	}
}

// noLimit is the message that the reference implementation sends as its limits if it does not limit
// dictionaries. The message is empty.
var noLimit = []byte{}

func openMetrics(t testing.TB, c *stefgrpc.Client, options ...stefgrpc.OpenOption) *stefgrpc.Stream {
	t.Helper()
	s, err := c.Open(within(t, 10*time.Second), otelstef.MetricsRoot(), options...)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = s.Close()
		<-s.Done()
	})
	return s
}

func writePoints(t testing.TB, dst io.Writer, n int, options ...stef.WriterOption) {
	t.Helper()
	w, err := otelstef.NewMetricsWriter(dst, options...)
	require.NoError(t, err)
	for i := range n {
		r := w.Record()
		r.Metric().SetName(fmt.Sprintf("metric.%d", i))
		r.Point().SetTimestamp(uint64(i))
		r.Point().Value().SetInt64(int64(i))
		r.Point().SetFlags(1) // the published schema does not have this field
		require.NoError(t, w.Write())
		require.NoError(t, w.Flush())
	}
}

// TestCompatServerConversation compares each byte of the conversation in the specification. The
// client sends the first message, two messages with the headers, and one message for each frame,
// in the server's schema.
func TestCompatServerConversation(t *testing.T) {
	heard := make(chan [][]byte, 1)
	client := serveReference(t, func(s *referenceServer) error {
		all := [][]byte{s.first}
		defer func() { heard <- all }()
		if err := s.say(capabilitiesMessage(noLimit, publishedWire("Metrics"))); err != nil {
			return err
		}
		for {
			m, err := s.hear()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			all = append(all, m)
			if n := len(all) - 3; n > 0 { // after the headers
				if err := s.say(responseMessage(uint64(n))); err != nil {
					return err
				}
			}
		}
	})
	s := openMetrics(t, client)
	require.Equal(t, schema.Older, s.Compat())
	require.Equal(t, publishedWire("Metrics"), s.Schema())
	writePoints(t, s, 3, s.WriterOptions()...)
	require.NoError(t, s.AwaitAll(within(t, 10*time.Second)))
	require.Equal(t, uint64(3), s.Acked())
	require.NoError(t, s.Drain(within(t, 10*time.Second)))

	var want bytes.Buffer
	writePoints(t, &want, 3, otelstef.PublishedMetrics(), stef.WithSchemaHeader())
	all := <-heard
	require.Equal(t, fromHex(t, "0a090a074d657472696373"), all[0])
	require.Equal(t, fromHex(t, "1207535445460200001801"), all[1])
	chunks := splitChunks(t, want.Bytes())
	require.Len(t, all, 1+len(chunks))
	for i, chunk := range chunks {
		require.Equal(t, chunkMessage(chunk, true), all[i+1])
	}
}

// TestCompatServerSchemas checks which schema the client writes if a server announces the client's
// own, an older or a newer schema.
func TestCompatServerSchemas(t *testing.T) {
	own := otelstef.MetricsSchema()
	older := publishedWire("Metrics")
	f := func(name string, named, want schema.WireSchema, compat schema.Compat) {
		t.Run(name, func(t *testing.T) {
			header := make(chan schema.WireSchema, 1)
			client := serveReference(t, func(s *referenceServer) error {
				if err := s.say(capabilitiesMessage(noLimit, named)); err != nil {
					return err
				}
				var stream []byte
				for range 2 {
					chunk, err := s.chunk(math.MaxInt)
					if err != nil {
						return err
					}
					stream = append(stream, chunk...)
				}
				r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
				if err != nil {
					return err
				}
				header <- r.Schema()
				return nil
			})
			s := openMetrics(t, client)
			require.Equal(t, compat, s.Compat())
			writePoints(t, s, 0, s.WriterOptions()...)
			require.Equal(t, want, <-header)
		})
	}
	bigger := append(schema.WireSchema(nil), own...)
	bigger[0]++
	f("exact", own, own, schema.Exact)
	f("published", older, older, schema.Older)
	f("newer", bigger, own, schema.Newer)
}

func TestCompatServerRefusesSchemas(t *testing.T) {
	f := func(name string, kind stefgrpc.Kind, answer []byte) {
		t.Run(name, func(t *testing.T) {
			client := serveReference(t, func(s *referenceServer) error {
				if err := s.say(answer); err != nil {
					return err
				}
				<-s.Context().Done() // the client ends the stream immediately
				return nil
			})
			_, err := client.Open(within(t, 10*time.Second), otelstef.MetricsRoot())
			var e *stefgrpc.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, kind, e.Kind, "%v", err)
		})
	}
	// The two schemas have the same total number of fields, the only number that the reference
	// implementation compares. But neither of them contains all fields of the other.
	crossed := otelstef.MetricsSchema()
	crossed[0]++
	crossed[2]--
	f("one struct grew, another shrank", stefgrpc.KindIncompatible, capabilitiesMessage(noLimit, crossed))
	f("another root", stefgrpc.KindIncompatible, capabilitiesMessage(noLimit, publishedWire("Spans")))
	f("no schema", stefgrpc.KindProtocol, fromHex(t, "0a020a00"))
	f("half a schema", stefgrpc.KindProtocol, fromHex(t, "0a0612040f060108"))
	f("a response", stefgrpc.KindProtocol, responseMessage(1))
	f("nothing", stefgrpc.KindProtocol, nil)
}

// If a server announces no limit of dictionaries, the client uses its own limit.
func TestCompatServerDictLimits(t *testing.T) {
	f := func(name string, limits []byte, want int) {
		t.Run(name, func(t *testing.T) {
			client := serveReference(t, func(s *referenceServer) error {
				if err := s.say(capabilitiesMessage(limits, publishedWire("Metrics"))); err != nil {
					return err
				}
				_, err := s.hear()
				return err
			})
			c := steftest.WriterSettingsOf(t, openMetrics(t, client).WriterOptions()...)
			require.Equal(t, want, c.DictBytes)
		})
	}
	f("absent", nil, stef.DefaultDictBytes)
	f("empty", noLimit, stef.DefaultDictBytes)
	f("zero", number(nil, 2, 0), stef.DefaultDictBytes)
	f("lower", number(nil, 2, 1000), 1000)
	f("greater than ours", number(nil, 2, 1<<40), stef.DefaultDictBytes)
	f("in field 1, where it is not", number(nil, 1, 1000), stef.DefaultDictBytes)
}

// scriptedResponses returns the script of a server that answers each frame with the next element
// of responses, and then ends the stream with the status end.
func scriptedResponses(responses [][]byte, end error) func(s *referenceServer) error {
	return func(s *referenceServer) error {
		if err := s.say(capabilitiesMessage(noLimit, publishedWire("Metrics"))); err != nil {
			return err
		}
		for i := range 2 + len(responses) {
			if _, err := s.chunk(math.MaxInt); err != nil {
				return err
			}
			if i >= 2 && responses[i-2] != nil {
				if err := s.say(responses[i-2]); err != nil {
					return err
				}
			}
		}
		if end != nil {
			return end
		}
		_, err := s.hear()
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

// The receiver of the reference implementation reports a bad batch in the response that acknowledges
// the batch. By mistake, the reported range begins one record before the batch. The client ignores
// this record.
func TestCompatServerBadRanges(t *testing.T) {
	client := serveReference(t, scriptedResponses([][]byte{
		responseMessage(1, [2]uint64{0, 1}), // the first batch: from id 0
		responseMessage(2),
		responseMessage(3, [2]uint64{2, 3}), // record 2 was accepted
		nil,                                 // coalesced
		responseMessage(5),
	}, nil))
	var told []stefgrpc.Response
	s := openMetrics(t, client, stefgrpc.WithOnResponse(func(r stefgrpc.Response) { told = append(told, r) }))
	writePoints(t, s, 5, s.WriterOptions()...)
	require.NoError(t, s.AwaitAck(within(t, 10*time.Second), 5))
	require.Equal(t, []stefgrpc.IDRange{{From: 1, To: 1}, {From: 3, To: 3}}, s.Rejected())
	require.NoError(t, s.Drain(within(t, 10*time.Second)))
	require.NoError(t, s.Err())
	require.Equal(t, []stefgrpc.Response{
		{Acked: 1, Rejected: []stefgrpc.IDRange{{From: 1, To: 1}}},
		{Acked: 2},
		{Acked: 3, Rejected: []stefgrpc.IDRange{{From: 3, To: 3}}},
		{Acked: 5},
	}, told)
}

// TestCompatServerEnds checks the error of the client when a server of the reference implementation
// ends the stream.
func TestCompatServerEnds(t *testing.T) {
	f := func(name string, end error, kind stefgrpc.Kind, code codes.Code, acked uint64, responses ...[]byte) {
		t.Run(name, func(t *testing.T) {
			client := serveReference(t, scriptedResponses(responses, end))
			s := openMetrics(t, client)
			w, err := otelstef.NewMetricsWriter(s, s.WriterOptions()...)
			require.NoError(t, err)
			for range len(responses) {
				require.NoError(t, w.Write())
				if err := w.Flush(); err != nil {
					break // the server has already ended the stream
				}
			}
			<-s.Done()
			var e *stefgrpc.Error
			require.ErrorAs(t, s.Err(), &e)
			require.Equal(t, kind, e.Kind, "%v", e)
			require.Equal(t, code, e.Code)
			require.Equal(t, acked, s.Acked())
			require.Error(t, s.AwaitAck(within(t, 10*time.Second), acked+1))
		})
	}
	ack := responseMessage
	f("transient failure of its consumer", status.Error(codes.Unavailable, "queue is full"),
		stefgrpc.KindUnavailable, codes.Unavailable, 1, ack(1), nil)
	f("any other error", errors.New("cannot read record"),
		stefgrpc.KindUnknown, codes.Unknown, 0, nil, nil)
	f("acknowledges more than it got", nil,
		stefgrpc.KindProtocol, codes.Internal, 1, ack(1), ack(7))
	f("capabilities twice", nil, stefgrpc.KindProtocol, codes.Internal, 1, ack(1),
		capabilitiesMessage(noLimit, publishedWire("Metrics")))
	f("a damaged message", nil, stefgrpc.KindProtocol, codes.Internal, 1, ack(1), fromHex(t, "1207"))
}

// A receiver of the reference implementation can omit the acknowledgement of the last records. A call
// that waits for this acknowledgement returns when its context ends.
func TestCompatServerForgetsTheLast(t *testing.T) {
	client := serveReference(t, scriptedResponses([][]byte{responseMessage(1), nil}, nil))
	s := openMetrics(t, client)
	writePoints(t, s, 2, s.WriterOptions()...)
	require.ErrorIs(t, s.AwaitAll(within(t, 100*time.Millisecond)), context.DeadlineExceeded)
	err := s.Drain(within(t, 10*time.Second))
	var e *stefgrpc.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, stefgrpc.KindClosed, e.Kind)
	_, records := s.Unacked()
	require.Equal(t, uint64(1), records)
}

// A frame that is larger than WithMaxMessageBytes is sent in several messages. Only the last message
// has the field is_end_of_chunk. So a server that collects messages gets whole chunks, and no message
// exceeds the limit.
func TestCompatServerLargeFrames(t *testing.T) {
	const largest = 1000
	got := make(chan [][]byte, 1)
	client := serveReference(t, func(s *referenceServer) error {
		if err := s.say(capabilitiesMessage(noLimit, publishedWire("Metrics"))); err != nil {
			return err
		}
		var chunks [][]byte
		defer func() { got <- chunks }()
		for {
			chunk, err := s.chunk(largest)
			if errors.Is(err, io.EOF) && len(chunk) == 0 {
				return s.say(responseMessage(1))
			}
			if err != nil {
				return err
			}
			chunks = append(chunks, chunk)
		}
	}, stefgrpc.WithMaxMessageBytes(largest))
	s := openMetrics(t, client)
	w, err := otelstef.NewMetricsWriter(s, s.WriterOptions()...)
	require.NoError(t, err)
	w.Record().Metric().SetDescription(strings.Repeat("long ", 10_000))
	require.NoError(t, w.Write())
	require.NoError(t, w.Flush())
	require.NoError(t, s.Drain(within(t, 10*time.Second)))

	chunks := <-got
	require.Len(t, chunks, 3)
	require.Greater(t, len(chunks[2]), 50_000)
	require.Equal(t, chunks, splitChunks(t, bytes.Join(chunks, nil)))
}

// A client sends the bytes of a stream unchanged, both for streams that the reference implementation
// wrote and for test vectors of this repository.
func TestCompatServerStreams(t *testing.T) {
	type result struct {
		chunks [][]byte
		end    error
	}
	run := func(t *testing.T, samples []sample) {
		saw := make(chan result, 1)
		client := serveReference(t, func(s *referenceServer) error {
			root := string(s.first[4:]) // the name that the client sent
			if err := s.say(capabilitiesMessage(noLimit, publishedWire(root))); err != nil {
				return err
			}
			var r result
			for r.end == nil {
				var chunk []byte
				if chunk, r.end = s.chunk(math.MaxInt); r.end == nil {
					r.chunks = append(r.chunks, chunk)
				}
			}
			saw <- r
			reader, err := openReader(root, bytes.NewReader(bytes.Join(r.chunks, nil)))
			if err != nil {
				return err
			}
			for reader.Next() {
				if reader.BufferedRecords() == 0 {
					if err := s.say(responseMessage(reader.Stats().Records)); err != nil {
						return err
					}
				}
			}
			return reader.Err()
		})
		for _, x := range samples {
			s, err := client.Open(within(t, 10*time.Second), rootOf(x.root))
			require.NoError(t, err)
			chunks := splitChunks(t, x.bytes)
			for _, chunk := range chunks {
				_, err := s.Write(chunk)
				require.NoError(t, err)
			}
			require.NoError(t, s.Drain(within(t, 10*time.Second)), x.name)
			require.Equal(t, x.records, s.Acked(), x.name)
			got := <-saw
			require.Equal(t, io.EOF, got.end)
			require.Equal(t, chunks, got.chunks, x.name)
		}
	}
	t.Run("own", func(t *testing.T) { run(t, ownSamples(t)) })
	t.Run("golden", func(t *testing.T) { run(t, goldenSamples(t, "edge")) })
}
