// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-gogrpc"
)

// fullPeriod is the minimum time between two log lines about max_streams.
const fullPeriod = time.Minute

// fullLog limits the log lines about max_streams.
type fullLog struct {
	next    atomic.Int64 // time of the next line, in ns
	skipped atomic.Int64
}

// explainFull is an interceptor that tells the client, and the log, which limit
// refused a stream.
func (s *shared) explainFull(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	err := handler(srv, stream)
	st, ok := status.FromError(err)
	if err == nil || !ok || st.Code() != codes.Unavailable || !isFull(st) {
		return err
	}
	most := s.config.Limits.MaxStreams
	now, next := time.Now().UnixNano(), s.full.next.Load()
	if now >= next && s.full.next.CompareAndSwap(next, now+int64(fullPeriod)) {
		client := "unknown"
		if p, ok := peer.FromContext(stream.Context()); ok {
			client = p.Addr.String()
		}
		s.logger.Warn("A stream was refused: there are as many as limits::max_streams allows. An exporter needs num_streams for each signal.",
			zap.Int("max_streams", most), zap.String("client", client), zap.Int64("not_logged", s.full.skipped.Swap(0)))
	} else {
		s.full.skipped.Add(1)
	}
	answer := st.Proto() // a copy
	answer.Message = fmt.Sprintf("%s: raise limits::max_streams of the receiver (is %d; an exporter needs num_streams for each signal)", st.Message(), most)
	return status.FromProto(answer).Err()
}

// isFull reports whether a status says that the limit of streams is reached.
func isFull(st *status.Status) bool {
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason() == stefgrpc.ReasonBusy
		}
	}
	return false
}
