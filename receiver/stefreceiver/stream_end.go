// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"errors"
	"strings"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-gogrpc"
)

func (s *stream[T]) ended(err error) {
	reason := s.endReason(err)
	s.meter.ended(reason)
	fields := []zap.Field{
		signalField(s.Name), zap.String("reason", reason),
		zap.Uint64("records", s.records), zap.Int64("bytes", s.wireBytes), zap.Error(err),
	}
	switch reason {
	case endInvalid, endLimit, endPanic:
		if skipped, ok := s.core.broken.due(); ok {
			s.core.logger.Warn("A STEF stream ended with an error"+limitHint(err), append(fields,
				clientField(s.transport.Context()), zap.Int64("not_logged", skipped))...)
			return
		}
	}
	s.core.logger.Debug("A STEF stream ended", fields...)
}

func (s *stream[T]) endReason(err error) string {
	switch {
	case s.failure.Load() != nil:
		return endRefused
	case s.evicted.Load():
		return endMemory
	case s.core.ending():
		return endServer
	case err == nil && s.transport.EndedByServer():
		return endServer
	case err == nil:
		return endClosed
	case stefgrpc.FromStatus(err).Code == codes.ResourceExhausted:
		return endLimit // gRPC uses this code for its own limits, too
	case s.transport.Context().Err() != nil:
		return endLost
	case s.refused:
		return endPressure
	case errors.Is(err, stef.ErrLimit):
		return endLimit
	}
	switch stefgrpc.FromStatus(err).Code {
	case codes.DeadlineExceeded:
		return endTimeout
	case codes.Unavailable, codes.Canceled:
		return endLost
	case codes.Internal:
		return endPanic
	}
	return endInvalid
}

// limitHints say what to change when a limit is exceeded, for errors that do not contain a hint.
// gRPC and package stefgrpc produce the texts; TestTooLarge fails if they change.
var limitHints = []struct{ text, hint string }{
	{"received message larger than max", "raise max_recv_msg_size_mib of this receiver, or lower stef::max_message_size_kib of the exporter"},
	{"chunk of at least", "raise limits::max_chunk_mib of this receiver, or lower stef::max_frame_size_kib of the exporter"},
}

// limitHint returns ": " and what to change, or "" if no hint fits the error.
func limitHint(err error) string {
	for _, h := range limitHints {
		if err != nil && strings.Contains(err.Error(), h.text) {
			return ": " + h.hint
		}
	}
	return ""
}
