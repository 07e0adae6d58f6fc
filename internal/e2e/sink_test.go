// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // what Collectors send with by default
)

// idKey is the attribute that numbers log records.
const idKey = "e2e.id"

// sink is the final destination: an OTLP server in the process of the test, which
// keeps running when a Collector ends.
type sink struct {
	address string

	mu      sync.Mutex
	refuse  func() error  // the answer to requests, nil to accept them
	ids     map[int64]int // how often each log record arrived
	logs    int
	spans   int
	points  int
	refused int
}

func newSink(t *testing.T) *sink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &sink{address: l.Addr().String(), ids: map[int64]int{}}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	plogotlp.RegisterGRPCServer(server, &logSink{sink: s})
	ptraceotlp.RegisterGRPCServer(server, &spanSink{sink: s})
	pmetricotlp.RegisterGRPCServer(server, &pointSink{sink: s})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return s
}

// setRefuse sets the answer to later requests.
func (s *sink) setRefuse(refuse func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// take runs add unless requests are refused.
func (s *sink) take(add func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(); err != nil {
			s.refused++
			return err
		}
	}
	add()
	return nil
}

// counts returns how many items arrived.
func (s *sink) counts() (logs, spans, points int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs, s.spans, s.points
}

// missing returns how many of the numbered records did not arrive, and how many
// arrived more than once.
func (s *sink) missing(accepted []int64) (missing, twice int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range accepted {
		switch s.ids[id] {
		case 0:
			missing++
		case 1:
		default:
			twice++
		}
	}
	return missing, twice
}

// invented returns how many records arrived that were never sent.
func (s *sink) invented(offered int64) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.ids {
		if id < 1 || id > offered {
			n++
		}
	}
	return n
}

type logSink struct {
	plogotlp.UnimplementedGRPCServer
	*sink
}

func (s *logSink) Export(_ context.Context, request plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	return plogotlp.NewExportResponse(), s.take(func() {
		s.logs += request.Logs().LogRecordCount()
		for _, rl := range request.Logs().ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, record := range sl.LogRecords().All() {
					if id, ok := record.Attributes().Get(idKey); ok {
						s.ids[id.Int()]++
					}
				}
			}
		}
	})
}

type spanSink struct {
	ptraceotlp.UnimplementedGRPCServer
	*sink
}

func (s *spanSink) Export(_ context.Context, request ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	return ptraceotlp.NewExportResponse(), s.take(func() { s.spans += request.Traces().SpanCount() })
}

type pointSink struct {
	pmetricotlp.UnimplementedGRPCServer
	*sink
}

func (s *pointSink) Export(_ context.Context, request pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	return pmetricotlp.NewExportResponse(), s.take(func() { s.points += request.Metrics().DataPointCount() })
}
