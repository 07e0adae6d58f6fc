// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/internal/session"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// sessionStream is the part of Stream that a session uses.
type sessionStream interface {
	// adopt sets a function that is called with the news of each response, in order, and never
	// after Done is closed. It also makes the ledger keep the answers until the session settles
	// them, and removes the stream's own bounds on unacknowledged data. It must be called before
	// anything is written.
	adopt(onNews func(ledger.News))
	// answers returns the acknowledgements and rejections in the stream's ledger.
	answers() session.Answers
	// sentAtMost returns the id of the last record that may have been sent.
	sentAtMost() uint64
	// tooLarge returns the records of the chunk that ended the stream, if err says that a message is
	// too large for gRPC of the server or of this end. In other cases it returns the zero value.
	tooLarge(err error) wire.IDRange
	Unacked() (bytes int64, records uint64)
	CloseSend() error
	Close() error
	Done() <-chan struct{}
	Err() error
}

func (s *Stream) adopt(onNews func(ledger.News)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adopted = onNews
	s.ledger.Hold()
}

func (s *Stream) answers() session.Answers { return (*streamAnswers)(s) }

// streamAnswers gives the state machine of a session access to the answers of a Stream.
type streamAnswers Stream

func (s *streamAnswers) AnsweredUpTo() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.AnsweredUpTo()
}

func (s *streamAnswers) Answer(first, last uint64) ledger.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Answer(first, last)
}

func (s *streamAnswers) Settle(first, last uint64) ledger.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Settle(first, last)
}

func (s *Stream) tooLarge(err error) wire.IDRange {
	var size, limit int
	st, _ := status.FromError(err)
	text := strings.TrimPrefix(strings.TrimPrefix(st.Message(), "grpc: received"), "trying to send")
	if _, err := fmt.Sscanf(text, " message larger than max (%d vs. %d)", &size, &limit); err != nil || st.Code() != codes.ResourceExhausted {
		return wire.IDRange{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Larger(limit - maxEnvelope)
}

// sentAtMost is Sent, or the greatest id if chunks with an unknown number of
// records were written.
func (s *Stream) sentAtMost() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ledger.Uncounted() {
		return math.MaxUint64
	}
	return s.ledger.Sent()
}
