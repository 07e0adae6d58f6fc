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

// logPeriod is the minimum time between two log lines about clients of one kind: those
// that are refused, and those whose streams end with an error.
const logPeriod = time.Minute

// limitedLog limits log lines about refused clients, so that clients cannot fill the
// log.
type limitedLog struct {
	next    atomic.Int64 // time of the next line, in ns
	skipped atomic.Int64
}

// due reports whether a line may be logged now, and how many were not logged since
// the last one.
func (l *limitedLog) due() (skipped int64, ok bool) {
	now, next := time.Now().UnixNano(), l.next.Load()
	if now < next || !l.next.CompareAndSwap(next, now+int64(logPeriod)) {
		l.skipped.Add(1)
		return 0, false
	}
	return l.skipped.Swap(0), true
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
	if skipped, ok := s.full.due(); ok {
		client := "unknown"
		if p, ok := peer.FromContext(stream.Context()); ok {
			client = p.Addr.String()
		}
		s.logger.Warn("A stream was refused: there are as many as limits::max_streams allows. An exporter needs num_streams for each signal.",
			zap.Int("max_streams", most), zap.String("client", client), zap.Int64("not_logged", skipped))
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
