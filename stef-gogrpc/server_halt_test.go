// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	stef "github.com/otelstef/stef/stef-go"
)

func TestStopReading(t *testing.T) {
	f := func(name, want string, send func(p *scripted)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop := make(chan struct{})
				got := ""
				s := serving(t, func(s *ServerStream) error {
					go func() {
						<-stop
						s.StopReading()
						s.StopReading()
					}()
					p := make([]byte, 10)
					for {
						n, err := s.Read(p)
						if err != nil {
							require.Equal(t, io.EOF, err)
							s.AckUpTo(7)
							return status.Error(codes.Unavailable, "full")
						}
						got += string(p[:n])
					}
				})
				p := open(t, s, "Metrics")
				send(p)
				synctest.Wait()
				close(stop)
				requireStatus(t, p.status(t), codes.Unavailable, "")
				require.Equal(t, want, got)
				last := p.messages()[len(p.messages())-1]
				require.Equal(t, &Response{Acked: 7}, last.Response)
			})
		})
	}
	f("idle", "", func(p *scripted) {})
	f("after a chunk", "abc", func(p *scripted) { p.data(true, "abc") })
	f("within a chunk", "abc", func(p *scripted) { p.data(false, "abc") })
}

// TestStopReadingWithinChunk: if StopReading stops a reader within a chunk, the reader returns the
// error that the stream is truncated. The client must not receive this error as INVALID_ARGUMENT,
// because the client would drop a batch although it has sent nothing wrong.
func TestStopReadingWithinChunk(t *testing.T) {
	truncated := &stef.FormatError{Err: fmt.Errorf("%w: %w", stef.ErrCorrupt, io.ErrUnexpectedEOF)}
	f := func(want codes.Code, stop bool, result error) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := serving(t, func(s *ServerStream) error {
				if stop {
					time.AfterFunc(time.Second, s.StopReading)
				}
				_, err := io.ReadAll(s)
				require.NoError(t, err)
				return result
			})
			p := open(t, s, "Metrics")
			p.data(false, "abc")
			time.Sleep(2 * time.Second)
			if !stop {
				p.halfClose()
			}
			requireStatus(t, p.status(t), want, "")
		})
	}
	f(codes.OK, true, truncated)
	f(codes.Unavailable, true, fmt.Errorf("database: %w", io.ErrUnexpectedEOF))
	f(codes.InvalidArgument, false, truncated) // the client ended the stream within a chunk
}
