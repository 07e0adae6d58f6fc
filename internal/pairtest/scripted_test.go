// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/exporter/stefexporter"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// runScript sends from an exporter to a peer that follows a script, and checks that nothing is lost.
func runScript(t *testing.T, broken bool, play func(n int, s *scriptedStream) error, changes ...func(*stefexporter.Config)) (*scripted, *exporterEnd[ptrace.Traces], *load) {
	t.Helper()
	p := startScripted(t, play)
	x := startExporter(t, &traceKind, exporterConfig(p.addr, append([]func(*stefexporter.Config){func(c *stefexporter.Config) {
		c.Protocol = stefexporter.ProtocolSTEF
		c.TimeoutConfig.Timeout = 500 * time.Millisecond
		c.Stef.NumStreams = 1
	}}, changes...)...))
	d := &load{workers: 4, batches: 10, items: 25, deadline: 10 * time.Minute}
	runLoad(t, d, x)
	p.mu.Lock()
	defer p.mu.Unlock()
	d.check(t, p.seen, p.rejected, value(t, x.telemetry, "otelcol_exporter_stef_items_dropped"), broken)
	require.Eventually(t, func() bool {
		return value(t, x.telemetry, "otelcol_exporter_stef_unacked_batches") == 0 &&
			value(t, x.telemetry, "otelcol_exporter_stef_unacked_bytes") == 0
	}, time.Minute, 10*time.Millisecond)
	return p, x, d
}

// longTimeout sets a long timeout. After a timeout, the exporter would send the batch again.
func longTimeout(c *stefexporter.Config) { c.TimeoutConfig.Timeout = time.Minute }

func TestScriptObedient(t *testing.T) {
	p, _, d := runScript(t, false, func(_ int, s *scriptedStream) error { return s.serve() }, longTimeout)
	require.Equal(t, 1, p.streams)
	require.Equal(t, 40, d.attempts)
}

// TestScriptSlowAcks uses a peer that reads immediately and, from time to time,
// acknowledges everything that has arrived.
func TestScriptSlowAcks(t *testing.T) {
	_, _, d := runScript(t, false, func(_ int, s *scriptedStream) error {
		if err := s.begin(0); err != nil {
			return err
		}
		var read atomic.Uint64
		ended := make(chan struct{})
		acks := make(chan error, 1)
		go func() {
			for {
				select {
				case <-ended:
					acks <- s.respond(read.Load())
					return
				case <-time.After(40 * time.Millisecond):
				}
				if err := s.respond(read.Load()); err != nil {
					acks <- err
					return
				}
			}
		}()
		var err error
		for err == nil {
			var last uint64
			if _, last, err = s.frame(stef.Limits{}); err == nil {
				read.Store(last)
			}
		}
		close(ended)
		return errors.Join(orderly(err), <-acks)
	}, longTimeout)
	require.Equal(t, 40, d.attempts, "late is not lost")
}

// TestScriptDrops ends the first streams after a few frames, some of which are
// acknowledged.
func TestScriptDrops(t *testing.T) {
	t.Parallel()
	f := func(frames, acked int, end error) {
		t.Helper()
		p, _, _ := runScript(t, true, func(n int, s *scriptedStream) error {
			if n > 3 {
				return s.serve()
			}
			if err := s.begin(0); err != nil {
				return err
			}
			for i := range frames {
				_, last, err := s.frame(stef.Limits{})
				if err != nil {
					return orderly(err)
				}
				if i < acked {
					if err := s.respond(last); err != nil {
						return err
					}
				}
			}
			return end
		})
		require.GreaterOrEqual(t, p.streams, 4)
	}
	f(0, 0, nil)
	f(1, 0, nil)
	f(2, 1, nil)
	f(0, 0, status.Error(codes.Unavailable, "go away"))
	f(1, 0, status.Error(codes.Unavailable, "go away"))
	f(2, 1, status.Error(codes.Unavailable, "go away"))
	f(2, 2, status.Error(codes.Aborted, "go away"))
}

// TestScriptCodes ends the first stream with every status code, with and without
// RetryInfo: data that may be sent again is sent again, and the rest is dropped
// and counted.
func TestScriptCodes(t *testing.T) {
	t.Parallel()
	f := func(code codes.Code, retryInfo, retried bool) {
		t.Helper()
		st := status.New(code, "scripted")
		if retryInfo {
			var err error
			st, err = st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)})
			require.NoError(t, err)
		}
		_, x, d := runScript(t, true, func(n int, s *scriptedStream) error {
			if n > 1 {
				return s.serve()
			}
			if err := s.begin(0); err != nil {
				return err
			}
			if _, _, err := s.frame(stef.Limits{}); err != nil {
				return orderly(err)
			}
			return st.Err()
		}, longTimeout) // after a timeout, a batch would be sent again whatever the code says
		require.Equal(t, retried, len(d.refused) == 0, code)
		require.NotZero(t, value(t, x.telemetry, "otelcol_exporter_stef_failed_attempts"), code)
		require.Zero(t, value(t, x.telemetry, "otelcol_exporter_stef_downgrades"), code)
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		switch code {
		case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
			f(code, false, true)
		case codes.ResourceExhausted:
			f(code, false, false)
			f(code, true, true)
		default:
			f(code, false, false)
		}
	}
	f(codes.Unavailable, true, true)
	f(codes.InvalidArgument, true, false)
}

// TestScriptBadRecords reports every third record as bad, in ranges of many
// different forms.
func TestScriptBadRecords(t *testing.T) {
	var bad atomic.Int64
	_, x, d := runScript(t, false, func(_ int, s *scriptedStream) error {
		if err := s.begin(0); err != nil {
			return err
		}
		for before := uint64(0); ; {
			ids, last, err := s.frame(stef.Limits{})
			if err != nil {
				return orderly(err)
			}
			var ranges []*stefpb.STEFIDRange
			for i, id := range ids {
				number := before + 1 + uint64(i)
				if number%3 != 0 {
					continue
				}
				bad.Add(1)
				s.peer.mu.Lock()
				s.peer.rejected[id] = true
				s.peer.mu.Unlock()
				one := &stefpb.STEFIDRange{FromId: number, ToId: number}
				ranges = append([]*stefpb.STEFIDRange{one, one}, ranges...) // twice, and in descending order
			}
			if err := s.respond(last, ranges...); err != nil {
				return err
			}
			before = last
		}
	}, longTimeout)
	require.Empty(t, d.refused, "no batch is all bad")
	require.Equal(t, bad.Load(), value(t, x.telemetry, "otelcol_exporter_stef_records_rejected"))
	require.Equal(t, 1000-bad.Load(), value(t, x.telemetry, "otelcol_exporter_stef_items_delivered"))
}

// TestScriptSmallDictionaries advertises a dictionary limit far below the limit that is
// configured at the exporter, and enforces the lower limit.
func TestScriptSmallDictionaries(t *testing.T) {
	const most = 16 << 10
	_, x, _ := runScript(t, false, func(_ int, s *scriptedStream) error {
		if err := s.begin(most); err != nil {
			return err
		}
		for {
			_, last, err := s.frame(stef.Limits{DictBytes: 2 * most})
			if err != nil {
				return orderly(err)
			}
			if err := s.respond(last); err != nil {
				return err
			}
		}
	}, longTimeout)
	require.NotZero(t, value(t, x.telemetry, "otelcol_exporter_stef_dict_resets"))
}

// TestScriptNonsense uses peers that break the protocol on the first two streams.
func TestScriptNonsense(t *testing.T) {
	f := func(name string, play func(s *scriptedStream) error) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runScript(t, true, func(n int, s *scriptedStream) error {
				if n > 2 {
					return s.serve()
				}
				return play(s)
			})
		})
	}
	after := func(nonsense func(s *scriptedStream, last uint64) error) func(s *scriptedStream) error {
		return func(s *scriptedStream) error {
			if err := s.begin(0); err != nil {
				return err
			}
			_, last, err := s.frame(stef.Limits{})
			if err != nil {
				return orderly(err)
			}
			if err := nonsense(s, last); err != nil {
				return err
			}
			return s.waitForEnd()
		}
	}
	f("garbage instead of capabilities", func(s *scriptedStream) error {
		return errors.Join(s.raw([]byte("\xff\xff\xff\xff")), s.waitForEnd())
	})
	f("a response instead of capabilities", func(s *scriptedStream) error {
		return errors.Join(s.respond(1), s.waitForEnd())
	})
	f("no capabilities", func(s *scriptedStream) error { return s.waitForEnd() })
	f("end instead of capabilities", func(*scriptedStream) error { return nil })
	f("garbage instead of a response", after(func(s *scriptedStream, _ uint64) error { return s.raw([]byte{0xff, 0x13}) }))
	f("an empty message", after(func(s *scriptedStream, _ uint64) error { return s.raw(nil) }))
	f("capabilities again", after(func(s *scriptedStream, _ uint64) error { return s.begin(0) }))
	f("what was never sent is acknowledged", after(func(s *scriptedStream, last uint64) error { return s.respond(last + 1_000_000) }))
	f("acknowledgements go back", after(func(s *scriptedStream, last uint64) error {
		return errors.Join(s.respond(last), s.respond(last-1), s.respond(0))
	}))
	f("a range of nothing", after(func(s *scriptedStream, last uint64) error {
		return s.respond(last, &stefpb.STEFIDRange{FromId: 9, ToId: 3})
	}))
	f("no acknowledgement", after(func(*scriptedStream, uint64) error { return nil }))
	f("a huge message", func(s *scriptedStream) error { return errors.Join(s.raw(make([]byte, 8<<20)), s.waitForEnd()) })
}

// TestScriptStopsReading uses a peer that reads nothing from the first stream. The
// exporter holds only the allowed unacknowledged data, and returns errors for the
// batches in time.
func TestScriptStopsReading(t *testing.T) {
	t.Parallel()
	stalled := make(chan struct{})
	p := startScripted(t, func(n int, s *scriptedStream) error {
		if n > 1 {
			return s.serve()
		}
		close(stalled)
		return errors.Join(s.begin(0), s.waitForEnd())
	})
	x := startExporter(t, &traceKind, exporterConfig(p.addr, func(c *stefexporter.Config) {
		c.Protocol = stefexporter.ProtocolSTEF
		c.Stef.Compression = "none"
		c.Stef.MaxUnackedMiB = 1
		c.Stef.MaxFrameSizeKiB = 64
		c.TimeoutConfig.Timeout = time.Second
	}))
	// 40 batches of 250 kB: most of them must wait until other data is acknowledged.
	d := &load{workers: 10, batches: 4, items: 25, deadline: 10 * time.Minute, padding: 10_000}
	var most int64
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		<-stalled
		for {
			most = max(most, value(t, x.telemetry, "otelcol_exporter_stef_unacked_bytes"))
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	runLoad(t, d, x)
	close(over)
	<-done
	require.NotZero(t, most)
	require.Less(t, most, int64(1<<20+2*250_000), "one batch may go beyond the bound, and one frame")
	p.mu.Lock()
	defer p.mu.Unlock()
	d.check(t, p.seen, p.rejected, 0, true)
	require.GreaterOrEqual(t, p.streams, 2)
}

// orderly returns nil for the end of a stream that the client has half-closed.
func orderly(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
