// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// inbound is a received message, or the reason why no message was received. Its bytes
// count against the budget of the server, see consumed. The owner of an inbound must call
// free.
type inbound struct {
	message wire.ClientMessage
	size    int64 // bytes in the budget
	err     error
}

func (in *inbound) read(p []byte) int {
	n := copy(p, in.message.Bytes)
	in.message.Bytes = in.message.Bytes[n:]
	return n
}

// free returns all bytes of in to the budget. It may be called more than once.
func (in *inbound) free(b *budget) {
	in.message = wire.ClientMessage{}
	if in.size > 0 {
		b.release(in.size)
		in.size = 0
	}
}

// consumed drops the current message, which was read to its end. The bytes of the message stay
// in the budget until its chunk is finished, because the reader buffers them until then.
func (s *ServerStream) consumed() {
	in, b := &s.current, &s.server.budget
	if in.message.EndOfChunk {
		in.free(b)
		s.releaseChunk()
		return
	}
	b.hold(in.size)
	s.held.Add(in.size)
	in.size = 0
	in.free(b)
}

func (s *ServerStream) releaseChunk() {
	if held := s.held.Swap(0); held > 0 {
		s.server.budget.releaseHeld(held)
	}
}

// receive reads messages from gRPC and passes them to Read, one message ahead. It has its own
// goroutine: a handler must be able to stop reading and still send acknowledgements, but only the
// end of the stream interrupts RecvMsg of gRPC.
func (s *ServerStream) receive() {
	defer s.end()
	defer close(s.received)
	var rules inboundRules
	clock := newClock(s)
	defer clock.stop()
	for {
		in := s.receiveOne(&rules, clock)
		last := in.err != nil
		s.receiveErr = in.err
		select {
		case s.inbound <- in:
		case <-s.ctx.Done():
			in.free(&s.server.budget)
			return
		}
		if last {
			return
		}
	}
}

// receiveOne returns the next message, with its bytes in the budget, or an error.
func (s *ServerStream) receiveOne(rules *inboundRules, clock *clock) (in inbound) {
	clock.start(rules)
	var received stefpb.STEFClientMessage
	err := s.grpc.RecvMsg(&received)
	clock.pause()
	if err != nil {
		if err != io.EOF {
			err = FromStatus(err)
		}
		return inbound{err: err}
	}
	in.message = wire.ParseClient(&received)
	size := int64(len(in.message.Bytes))
	first := !rules.begun
	err = rules.check(&in.message, size, &s.server.config)
	if err == nil && first {
		s.server.handshaking.Add(-1)
		s.begun = true
	}
	if err == nil && size > 0 {
		s.idleSince.Store(int64(time.Since(processStart)))
		err = s.server.budget.acquire(s.ctx, size)
		s.idleSince.Store(0)
	}
	if err != nil {
		in.free(&s.server.budget)
		return inbound{err: FromStatus(err)}
	}
	in.size = size
	s.server.bytes.Add(uint64(size))
	if in.message.EndOfChunk {
		s.server.chunks.Add(1)
	}
	return in
}

// inboundRules checks the messages of a client against the protocol.
type inboundRules struct {
	begun  bool
	header bool  // the first chunk is complete
	within bool  // a chunk has started and is not complete
	chunk  int64 // bytes of that chunk
	data   bool  // the last message had data
}

func (r *inboundRules) check(m *wire.ClientMessage, size int64, c *serverConfig) error {
	switch {
	case !r.begun && (!m.First || m.Root == ""):
		return invalid("the first message does not name a root struct")
	case !r.begun && (size > 0 || m.EndOfChunk):
		return invalid("the first message has data")
	case !r.begun:
		r.begun = true
		return nil
	case m.First:
		return invalid("a root struct is named again within the stream")
	}
	r.data = size > 0
	r.chunk += size
	switch { // "chunk of at least" is matched by limitHints of the receiver and by explain of the exporter
	case r.chunk > c.maxChunk:
		return errorf(KindLimit, "chunk of at least %d bytes, the limit is %d (WithMaxChunkBytes of the server)", r.chunk, c.maxChunk)
	case r.chunk > c.maxBuffered: // a chunk is in the budget until its end, so another attempt would also fail
		return errorf(KindLimit, "chunk of at least %d bytes, the server buffers at most %d (WithMaxBufferedBytes of the server)", r.chunk, c.maxBuffered)
	}
	r.within = r.within || size > 0
	if m.EndOfChunk {
		r.chunk, r.within, r.header = 0, false, true
	}
	return nil
}

// messageCompression returns the name of the compression with which gRPC compresses the
// messages of a stream, or "" if gRPC does not compress them. gRPC decompresses messages before
// a handler reads them, so nothing could bound the decompressed size on many streams at once.
func messageCompression(ctx context.Context) string {
	stream, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ RecvCompress() string })
	if !ok {
		return ""
	}
	if name := stream.RecvCompress(); name != encoding.Identity {
		return name
	}
	return ""
}

func compressedMessages(name string) error {
	return invalid("gRPC compresses the messages (" + name + "): turn the compression of gRPC off for STEF, whose frames are compressed themselves")
}

func invalid(reason string) *Error {
	e := errorf(KindProtocol, "%s", reason)
	e.Code = codes.InvalidArgument
	return e
}
