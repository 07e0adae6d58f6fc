// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
