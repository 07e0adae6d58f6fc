// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"io"

	"google.golang.org/grpc/codes"
)

// inbound is a message that was received, or the reason why there is none. Its
// bytes are in gRPC's own buffers until they are read, and in the budget of the
// server. Whoever has it frees it, in a deferred call.
type inbound struct {
	message clientMessage
	offset  int   // into the first buffer
	size    int64 // bytes in the budget
	err     error
}

// read copies what there is to p.
func (in *inbound) read(p []byte) int {
	n := 0
	for n < len(p) && len(in.message.received) > 0 {
		buffer := in.message.received[0]
		data := buffer.ReadOnlyData()
		k := copy(p[n:], data[in.offset:])
		n += k
		in.offset += k
		if in.offset == len(data) {
			buffer.Free()
			in.message.received, in.offset = in.message.received[1:], 0
		}
	}
	return n
}

// free gives everything back that in holds. It may be called again.
func (in *inbound) free(b *budget) {
	in.message.free()
	if in.size > 0 {
		b.give(in.size)
		in.size = 0
	}
}

// receive takes messages from gRPC and hands them to Read, one ahead. It has a
// goroutine of its own because nothing ends gRPC's RecvMsg but the end of the
// stream, and a stream has to stop being read while acknowledgements go out.
func (s *ServerStream) receive() {
	defer s.end()
	var rules inboundRules
	for {
		in := s.receiveOne(&rules)
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
func (s *ServerStream) receiveOne(rules *inboundRules) (in inbound) {
	if err := s.grpc.RecvMsg(&in.message); err != nil {
		in.free(&s.server.budget)
		if err != io.EOF {
			err = FromStatus(err)
		}
		return inbound{err: err}
	}
	size := int64(in.message.received.Len())
	err := rules.check(&in.message, size, s.server.config.maxChunk)
	if err == nil && size > 0 {
		err = s.server.budget.take(s.ctx, size)
	}
	if err != nil {
		in.free(&s.server.budget)
		return inbound{err: FromStatus(err)}
	}
	in.size = size
	s.server.bytes.Add(uint64(size))
	if in.message.endOfChunk {
		s.server.chunks.Add(1)
	}
	return in
}

// inboundRules are the rules of the messages of a client.
type inboundRules struct {
	begun bool
	chunk int64 // bytes of the unfinished chunk
}

func (r *inboundRules) check(m *clientMessage, size, maxChunk int64) error {
	switch {
	case !r.begun && (!m.first || m.root == ""):
		return invalid("the first message does not name a root struct")
	case !r.begun && (size > 0 || m.endOfChunk):
		return invalid("the first message has data")
	case !r.begun:
		r.begun = true
		return nil
	case m.first:
		return invalid("a root struct is named again within the stream")
	}
	r.chunk += size
	if r.chunk > maxChunk {
		return errorf(KindLimit, "chunk of %d bytes or more, at most %d", r.chunk, maxChunk)
	}
	if m.endOfChunk {
		r.chunk = 0
	}
	return nil
}

// invalid is an error of a client against the protocol.
func invalid(reason string) *Error {
	e := errorf(KindProtocol, "%s", reason)
	e.Code = codes.InvalidArgument
	return e
}
