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
	_ "google.golang.org/grpc/encoding/gzip" // the default compression of Collectors
)

// idKey is the attribute that numbers log records.
const idKey = "e2e.id"

// sink is the final destination: an OTLP server in the process of the test, which
// keeps running when a Collector ends.
type sink struct {
	address string

	mu      sync.Mutex
	refuse  func() error // returns the error for a request; nil accepts all requests
	ids     []uint8      // by number: how often the log record arrived, up to 255 times
	once    int          // different numbered records that arrived
	again   int          // further copies of numbered records
	highest int64        // the highest number that arrived
	strange int          // records with numbers that no load sends
	logs    int
	spans   int
	points  int
	refused int
}

func newSink(t *testing.T) *sink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &sink{address: l.Addr().String()}
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

func (s *sink) setRefuse(refuse func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

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

// refusals returns the number of requests that were refused.
func (s *sink) refusals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

func (s *sink) counts() (logs, spans, points int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs, s.spans, s.points
}

// missing returns how many of the accepted records did not arrive, and how many of them arrived
// more than once.
func (s *sink) missing(accepted []int64) (missing, twice int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range accepted {
		switch s.copies(id) {
		case 0:
			missing++
		case 1:
		default:
			twice++
		}
	}
	return missing, twice
}

// invented returns an upper bound of the number of records that arrived but were never sent.
func (s *sink) invented(offered int64) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.strange + int(max(0, s.highest-offered))
}

// maxID is greater than any number in the longest load.
const maxID = 1 << 28

// arrived counts a numbered record. The caller holds the mutex.
func (s *sink) arrived(id int64) {
	if id < 1 || id > maxID {
		s.strange++
		return
	}
	if n := id + 1 - int64(len(s.ids)); n > 0 {
		s.ids = append(s.ids, make([]uint8, n)...)
	}
	s.highest = max(s.highest, id)
	if s.ids[id] == 0 {
		s.once++
	} else {
		s.again++
	}
	if s.ids[id] < 255 {
		s.ids[id]++
	}
}

// copies returns how often a numbered record arrived. The caller holds the mutex.
func (s *sink) copies(id int64) uint8 {
	if id >= int64(len(s.ids)) {
		return 0
	}
	return s.ids[id]
}

// numbered returns how many different numbered records arrived, how many further copies of such
// records arrived, and the highest number.
func (s *sink) numbered() (once, again int, highest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.once, s.again, s.highest
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
						s.arrived(id.Int())
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
