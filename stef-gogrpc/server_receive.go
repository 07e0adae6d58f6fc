// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"io"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// inbound is a message that was received, or the reason why there is none. Its
// bytes are in the budget of the server until they are read. The code that has
// it frees it, in a deferred call.
type inbound struct {
	message wire.ClientMessage
	size    int64 // bytes in the budget
	err     error
}

// read copies what there is to p.
func (in *inbound) read(p []byte) int {
	n := copy(p, in.message.Bytes)
	in.message.Bytes = in.message.Bytes[n:]
	return n
}

// free gives everything back that in holds. It may be called again.
func (in *inbound) free(b *budget) {
	in.message = wire.ClientMessage{}
	if in.size > 0 {
		b.give(in.size)
		in.size = 0
	}
}

// consumed frees a message that was read to its end. Its bytes stay in the
// budget until the chunk is finished: the reader holds them.
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

// releaseChunk gives back what an unfinished chunk holds.
func (s *ServerStream) releaseChunk() {
	if held := s.held.Swap(0); held > 0 {
		s.server.budget.release(held)
	}
}

// receive takes messages from gRPC and hands them to Read, one ahead. It has a
// goroutine of its own because nothing ends gRPC's RecvMsg but the end of the
// stream, and a stream has to stop being read while acknowledgements are sent.
func (s *ServerStream) receive() {
	defer s.end()
	var rules inboundRules
	clock := newClock(s)
	defer clock.stop()
	for {
		in := s.receiveOne(&rules, clock)
		last := in.err != nil
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

// receiveOne returns the next message, counted, or an error.
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
	err = rules.check(&in.message, size, s.server.config.maxChunk)
	if err == nil && first {
		s.server.handshaking.Add(-1)
		s.begun = true
	}
	if err == nil && size > 0 {
		s.idleSince.Store(time.Now().UnixNano())
		err = s.server.budget.take(s.ctx, size)
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

// inboundRules are the rules of the messages of a client.
type inboundRules struct {
	begun  bool
	header bool  // the first chunk is here
	within bool  // a chunk has begun and not ended
	chunk  int64 // bytes of it
}

func (r *inboundRules) check(m *wire.ClientMessage, size, maxChunk int64) error {
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
	r.chunk += size
	if r.chunk > maxChunk {
		return errorf(KindLimit, "chunk of %d bytes or more, at most %d", r.chunk, maxChunk)
	}
	r.within = r.within || size > 0
	if m.EndOfChunk {
		r.chunk, r.within, r.header = 0, false, true
	}
	return nil
}

// invalid is an error of a client against the protocol.
func invalid(reason string) *Error {
	e := errorf(KindProtocol, "%s", reason)
	e.Code = codes.InvalidArgument
	return e
}
