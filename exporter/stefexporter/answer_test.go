// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

const noBackend = "dial tcp 127.0.0.1:4327: connect: connection refused"

// failWith makes a peer answer each batch with the error that end returns. If end returns nil,
// the peer accepts the batch.
func failWith(p *peer, end func() error) {
	p.onStream = func(s *stefgrpc.ServerStream) error {
		if end() == nil {
			return p.take(s)
		}
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err == nil && r.Next() {
			return end()
		}
		return errors.Join(err, r.Err())
	}
	p.onRequest = func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		return ptraceotlp.ExportResponse{}, end()
	}
}

// TestAnswers checks that a status that the peer sends counts as an answer of the peer, with either
// protocol. An error that arises in this process, such as a refused connection, does not.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Unavailable, codes.Internal, codes.Unauthenticated, codes.Unimplemented} {
		p := &peer{}
		failWith(p, func() error { return status.Error(code, noBackend) })
		listen(t, p, "", true, true)
		for _, protocol := range []Protocol{ProtocolSTEF, ProtocolOTLP} {
			c := testConfig(p.addr)
			c.Protocol = protocol
			err := start(t, c).send("a")
			require.Equal(t, code != codes.Unavailable, consumererror.IsPermanent(err), "%v", err)
			require.Equal(t, code, status.Code(err))
			a := answerOf(err)
			require.NotNil(t, a, "%v", err)
			require.Equal(t, protocol == ProtocolSTEF, a.open)
			require.NotContains(t, err.Error(), "nothing listens")
		}
	}
	for _, protocol := range []Protocol{ProtocolSTEF, ProtocolOTLP} {
		c := testConfig("127.0.0.1:1")
		c.Protocol, c.TimeoutConfig.Timeout = protocol, time.Second
		x := start(t, c)
		require.Eventually(t, func() bool { // on a busy machine, the timeout may end before the first attempt to connect
			err := x.send("a")
			require.Error(t, err)
			require.Nil(t, answerOf(err), "%v", err)
			return strings.Contains(err.Error(), "(endpoint 127.0.0.1:1: nothing listens there")
		}, time.Minute, time.Millisecond)
	}
}
