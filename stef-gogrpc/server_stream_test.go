// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/grpcstatus"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

func TestServerHandshake(t *testing.T) {
	f := func(name string, first *wire.ClientMessage, code codes.Code, reason string) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serving(t, readAll)
				p := play(t, s)
				p.toward <- first
				p.halfClose()
				requireStatus(t, p.status(t), code, reason)
				if code == codes.OK {
					require.Len(t, p.messages(), 1)
					require.Zero(t, s.Stats().Refused)
				} else {
					require.Empty(t, p.messages(), "capabilities")
					require.Equal(t, uint64(1), s.Stats().Refused)
				}
			})
		})
	}
	f("served", &wire.ClientMessage{First: true, Root: "Metrics"}, codes.OK, "")
	f("other root", &wire.ClientMessage{First: true, Root: "Logs"}, codes.Unimplemented, ReasonUnknownRoot)
	f("case matters", &wire.ClientMessage{First: true, Root: "metrics"}, codes.Unimplemented, ReasonUnknownRoot)
	f("no name", &wire.ClientMessage{First: true}, codes.InvalidArgument, "")
	f("no first message", &wire.ClientMessage{EndOfChunk: true}, codes.InvalidArgument, "")
	f("empty message", &wire.ClientMessage{}, codes.InvalidArgument, "")
	f("flag in the first message", &wire.ClientMessage{First: true, Root: "Metrics", EndOfChunk: true}, codes.InvalidArgument, "")
}

func TestServerHandshakeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, readAll)
		p := play(t, s)
		p.halfClose()
		st := p.status(t)
		requireStatus(t, st, codes.InvalidArgument, "")

		p = play(t, s)
		p.toward <- &wire.ClientMessage{First: true, Root: strings.Repeat("é", 1000)}
		st = p.status(t)
		requireStatus(t, st, codes.Unimplemented, ReasonUnknownRoot)
		require.Less(t, len(st.Message()), 400, "a name of the client is in the status")

		p = play(t, s)
		p.cancel()
		requireStatus(t, p.status(t), codes.Canceled, "")

		p = play(t, s)
		p.toward <- status.Error(codes.Internal, "damaged message")
		requireStatus(t, p.status(t), codes.Internal, "")
	})
}

func TestServerCapabilities(t *testing.T) {
	f := func(name string, want wire.Capabilities, options []ServerOption, handle ...HandleOption) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := NewServer(options...)
				require.NoError(t, err)
				require.NoError(t, s.Handle(small("Metrics"), HandlerFunc(readAll), handle...))
				p := open(t, s, "Metrics")
				require.Equal(t, want, *p.messages()[0].Capabilities)
				p.halfClose()
				requireStatus(t, p.status(t), codes.OK, "")
			})
		})
	}
	f("default", wire.Capabilities{MaxDictBytes: 64 << 20, Schema: []byte{1, 2}}, nil)
	f("a limit", wire.Capabilities{MaxDictBytes: 1000, Schema: []byte{1, 2}}, []ServerOption{WithMaxDictBytes(1000)})
	f("no limit", wire.Capabilities{Schema: []byte{1, 2}}, []ServerOption{WithMaxDictBytes(0)})
	f("older", wire.Capabilities{MaxDictBytes: 64 << 20, Schema: []byte{1, 1}}, nil,
		WithAdvertisedSchema(schema.WireSchema{1}))
}

func TestServerServesSeveralRoots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer()
		require.NoError(t, err)
		got := make(chan string, 2)
		for _, name := range []string{"Metrics", "Spans"} {
			require.NoError(t, s.Handle(small(name), HandlerFunc(func(s *ServerStream) error {
				got <- name + " as " + s.Root().Name
				return readAll(s)
			})))
		}
		for _, name := range []string{"Spans", "Metrics"} {
			p := open(t, s, name)
			require.Equal(t, name+" as "+name, <-got)
			p.halfClose()
			requireStatus(t, p.status(t), codes.OK, "")
		}
	})
}

func TestServerRead(t *testing.T) {
	// Each element is the result of one call of Read.
	f := func(name string, room int, want []string, send func(p *scripted)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reads []string
				s := serving(t, func(s *ServerStream) error {
					p := make([]byte, room)
					for {
						n, err := s.Read(p)
						if err != nil {
							require.Equal(t, io.EOF, err)
							require.Zero(t, n)
							_, again := s.Read(p)
							require.Equal(t, io.EOF, again)
							return nil
						}
						reads = append(reads, string(p[:n]))
					}
				})
				p := open(t, s, "Metrics")
				send(p)
				p.halfClose()
				requireStatus(t, p.status(t), codes.OK, "")
				require.Equal(t, want, reads)
				require.Equal(t, uint64(len(strings.Join(want, ""))), s.Stats().ReceivedBytes)
			})
		})
	}
	f("nothing", 10, nil, func(p *scripted) {})
	f("messages stay apart", 10, []string{"abc", "def"}, func(p *scripted) {
		p.data(true, "abc")
		p.data(true, "def")
	})
	f("buffers come together", 10, []string{"abcdef"}, func(p *scripted) { p.data(true, "abc", "def") })
	f("little room", 2, []string{"ab", "cd", "e"}, func(p *scripted) { p.data(true, "abc", "d", "e") })
	f("chunk in several messages", 10, []string{"abc", "def"}, func(p *scripted) {
		p.data(false, "abc")
		p.data(true, "def")
	})
	f("flag on its own", 10, []string{"abc", "def"}, func(p *scripted) {
		p.data(true)
		p.data(false, "abc")
		p.data(true)
		p.data(false)
		p.data(true, "def")
		p.data(true)
	})
	f("no flag", 10, []string{"abc", "def"}, func(p *scripted) {
		p.data(false, "abc")
		p.data(false, "def")
	})
}

func TestServerRefuses(t *testing.T) {
	// received is the number of bytes of the messages before the refused message.
	f := func(name string, code codes.Code, text string, received uint64, send func(p *scripted), options ...ServerOption) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var err error
				// The handler ignores the error, but the client must receive it.
				s := serving(t, func(s *ServerStream) error {
					_, err = io.Copy(io.Discard, s)
					return nil
				}, options...)
				p := open(t, s, "Metrics")
				send(p)
				p.halfClose()
				st := p.status(t)
				requireStatus(t, st, code, "")
				require.Contains(t, st.Message(), text)
				var e *Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, code, e.Code)
				require.Equal(t, received, s.Stats().ReceivedBytes)
			})
		})
	}
	f("root twice", codes.InvalidArgument, "again", 0, func(p *scripted) {
		p.toward <- &wire.ClientMessage{First: true, Root: "Metrics"}
	})
	f("chunk", codes.ResourceExhausted, "chunk of at least 11 bytes, the limit is 10 (WithMaxChunkBytes of the server)", 10, func(p *scripted) {
		p.data(true, "0123456789")
		p.data(true, "0123456789", "0")
	}, WithMaxChunkBytes(10))
	f("chunk in many messages", codes.ResourceExhausted, "chunk of at least 12 bytes", 9, func(p *scripted) {
		for range 20 {
			p.data(false, "abc")
		}
	}, WithMaxChunkBytes(10))
	f("chunk beyond the server", codes.ResourceExhausted, "chunk of at least 11 bytes, the server buffers at most 10 (WithMaxBufferedBytes of the server)", 10, func(p *scripted) {
		p.data(false, "0123456789")
		p.data(true, "0")
	}, WithMaxBufferedBytes(10))
	f("gRPC's own limit", codes.ResourceExhausted, "larger than max", 0, func(p *scripted) {
		p.toward <- status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)")
	})
}

func TestServerStatusOfHandler(t *testing.T) {
	wrapped := fmt.Errorf("consumer: %w", status.Error(codes.Unavailable, "full"))
	format := func(err error) error {
		return &stef.FormatError{Offset: 7, Frame: 1, Err: fmt.Errorf("%w: why", err)}
	}
	f := func(name string, err error, code codes.Code, reason, message string) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serving(t, func(s *ServerStream) error { return err })
				p := open(t, s, "Metrics")
				st := p.status(t)
				requireStatus(t, st, code, reason)
				require.Contains(t, st.Message(), message)
			})
		})
	}
	f("nil", nil, codes.OK, "", "")
	f("status", status.Error(codes.Aborted, "as is"), codes.Aborted, "", "as is")
	f("wrapped status", wrapped, codes.Unavailable, "", "full")
	f("Error", errorf(KindLimit, "too many"), codes.ResourceExhausted, "", "too many")
	f("corrupt", format(stef.ErrCorrupt), codes.InvalidArgument, "", "why")
	f("version", format(stef.ErrVersion), codes.InvalidArgument, "", "why")
	f("limit", format(stef.ErrLimit), codes.ResourceExhausted, "", "why")
	f("schema", format(stef.ErrSchema), codes.InvalidArgument, ReasonSchema, "why")
	f("context", fmt.Errorf("x: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "", "x")
	f("Error without a code", &Error{Kind: KindUnavailable, Err: errors.New("database down")}, codes.Unavailable, "", "database down")
	f("Error of bad data", &Error{Kind: KindInvalid, Err: errors.New("no tenant")}, codes.InvalidArgument, "", "no tenant")
	f("anything", errors.New("disk full"), codes.Unavailable, "", "disk full")
	f("cut, not by the server", io.ErrUnexpectedEOF, codes.Unavailable, "", "EOF")

	detailed := &Error{Kind: KindUnavailable, Code: codes.Unavailable, HasRetryInfo: true, RetryDelay: 3 * time.Second}
	st := status.Convert(statusOf(fmt.Errorf("handler: %w", detailed)))
	delay, ok := grpcstatus.RetryInfo(st)
	require.True(t, ok)
	require.Equal(t, 3*time.Second, delay)
	require.Equal(t, busyDelay, FromStatus(statusOf(errors.New("disk full"))).RetryDelay)
}

func TestServerCountsRecordsAndFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var end error
		s := serving(t, func(s *ServerStream) error {
			_ = readAll(s)
			s.AckUpTo(3)
			s.Reject(4, 5)
			s.Ack(9, 9) // not acknowledged to the client before 6 to 8 are finished
			return end
		})
		play := func(err error) ServerStats {
			end = err
			p := open(t, s, "Metrics")
			p.halfClose()
			p.status(t)
			return s.Stats()
		}
		stats := play(nil)
		require.Equal(t, []uint64{5, 2, 0}, []uint64{stats.AckedRecords, stats.RejectedRecords, stats.Failed})
		stats = play(errors.New("disk full"))
		require.Equal(t, []uint64{10, 4, 1}, []uint64{stats.AckedRecords, stats.RejectedRecords, stats.Failed})
		stats = play(io.EOF) // from the decoder: the client ended the stream gracefully
		require.Equal(t, []uint64{15, 6, 1}, []uint64{stats.AckedRecords, stats.RejectedRecords, stats.Failed})
		stats = play(context.Canceled) // the client disconnected
		require.Equal(t, []uint64{20, 8, 1}, []uint64{stats.AckedRecords, stats.RejectedRecords, stats.Failed})
		p := open(t, s, "Metrics")
		require.NoError(t, s.Shutdown(t.Context()))
		requireStatus(t, p.status(t), codes.Canceled, "")
		require.Equal(t, uint64(1), s.Stats().Failed)
	})
}

func TestServerHandlerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var value any
		var stack []byte
		var root string
		s := serving(t, func(s *ServerStream) error {
			_, _ = s.Read(make([]byte, 2))
			s.AckUpTo(1)
			panic("secret")
		}, WithOnPanic(func(s *ServerStream, v any, trace []byte) {
			value, stack, root = v, trace, s.Root().Name
		}))
		p := open(t, s, "Metrics")
		p.data(true, "abc", "def")
		p.data(true, "ghi")
		st := p.status(t)
		requireStatus(t, st, codes.Internal, "")
		require.NotContains(t, st.Message(), "secret", "what a handler panics with is not for clients")
		require.Equal(t, "secret", value)
		require.Equal(t, "Metrics", root)
		require.Contains(t, string(stack), "TestServerHandlerPanics")
		require.Equal(t, uint64(1), s.Stats().Panics)
		require.Equal(t, []Response{{Acked: 1}}, p.responses(), "acknowledged before the panic")

		open(t, s, "Metrics").cancel() // the server keeps running
		synctest.Wait()
	})
}

// TestServerHandlerErrors: a handler can return an error whose methods panic. Then only the stream
// of this handler ends. FromStatus(nil) returns a nil *Error; a handler that returns this nil
// pointer succeeds.
func TestServerHandlerErrors(t *testing.T) {
	f := func(want codes.Code, panics uint64, err error) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := serving(t, func(*ServerStream) error { return err }, WithOnPanic(func(*ServerStream, any, []byte) {}))
			requireStatus(t, open(t, s, "Metrics").status(t), want, "")
			require.Equal(t, panics, s.Stats().Panics)
		})
	}
	f(codes.OK, 0, FromStatus(nil))
	f(codes.Internal, 1, (*net.OpError)(nil))
	f(codes.Internal, 1, fmt.Errorf("%w", FromStatus(nil)))
}

// TestServerRanges: an invalid range of records is a mistake of the handler and panics.
func TestServerRanges(t *testing.T) {
	for text, call := range map[string]func(s *ServerStream){
		"Reject(5, 2): from is after to":           func(s *ServerStream) { s.Reject(5, 2) },
		"Ack(5, 2): from is after to":              func(s *ServerStream) { s.Ack(5, 2) },
		"Reject(0, 1): records are counted from 1": func(s *ServerStream) { s.Reject(0, 1) },
		"Ack(0, 0): records are counted from 1":    func(s *ServerStream) { s.Ack(0, 0) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var value any
			s := serving(t, func(s *ServerStream) error {
				call(s)
				return nil
			}, WithOnPanic(func(_ *ServerStream, v any, _ []byte) { value = v }))
			requireStatus(t, open(t, s, "Metrics").status(t), codes.Internal, "")
			require.Equal(t, "stefgrpc: "+text, value)
		})
	}
}

func TestServerBoundsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, readAll, WithMaxStreams(2))
		a, b := open(t, s, "Metrics"), open(t, s, "Metrics")
		st := play(t, s).status(t)
		requireStatus(t, st, codes.Unavailable, ReasonBusy)
		delay, ok := grpcstatus.RetryInfo(st)
		require.True(t, ok)
		require.Equal(t, busyDelay, delay)
		require.Equal(t, ServerStats{Streams: 2, Opened: 2, Refused: 1}, s.Stats())

		a.cancel()
		synctest.Wait()
		open(t, s, "Metrics").halfClose()
		b.halfClose()
		requireStatus(t, b.status(t), codes.OK, "")
	})
}

// A slow handler blocks its own client. When its unread bytes reach WithMaxBufferedBytes, it
// blocks all other clients, too. Unread bytes are counted exactly.
func TestServerBoundsBufferedBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		read := make(chan int) // how many bytes the handler reads next
		s := serving(t, func(s *ServerStream) error {
			for n := range read {
				if _, err := io.CopyN(&got, s, int64(n)); err != nil {
					return err
				}
			}
			return nil
		}, WithMaxBufferedBytes(10))
		p := open(t, s, "Metrics")
		state := func(buffered int64, waiting int) {
			t.Helper()
			synctest.Wait()
			require.Equal(t, buffered, s.Stats().BufferedBytes)
			require.Equal(t, waiting, s.Stats().Waiting)
		}
		state(0, 0)
		p.data(true, "01234")
		state(5, 0) // the server reads one message ahead of the handler
		p.data(true, "567")
		p.data(true, "89abcdef")
		state(5, 0) // the server reads no further message ahead
		read <- 1
		state(8, 0) // a message counts until it is read
		read <- 4
		state(3, 0)
		read <- 1
		state(3, 1)
		read <- 2
		state(8, 0)
		require.Equal(t, "01234567", got.String())

		q := open(t, s, "Metrics")
		q.data(true, "xyz")
		state(8, 1)
		p.cancel()
		state(3, 0)
		q.cancel()
		state(0, 0) // although no handler has called Read
		close(read)
		requireStatus(t, q.status(t), codes.OK, "")
	})
}
