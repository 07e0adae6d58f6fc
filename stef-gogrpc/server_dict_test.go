// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// Readers of a server allow more than the dictionary limit that the server announces: twice the limit,
// plus the maximum size of one record.
func TestServerDictLimit(t *testing.T) {
	const limit = 1 << 20
	slack := stef.DefaultLimits().RecordBytes
	f := func(name string, dictBytes int, total int, code codes.Code) {
		t.Run(name, func(t *testing.T) {
			saw := make(chan served, 1)
			conn, _ := serveRootsWith(t, decoding(saw), publishedWire, stefgrpc.WithMaxDictBytes(limit))
			client, err := stefgrpc.NewClient(conn)
			require.NoError(t, err)
			s := openMetrics(t, client)
			options := s.WriterOptions()
			if dictBytes > 0 {
				options = append(options, stef.WithDictBytes(dictBytes))
			}
			w, err := otelstef.NewMetricsWriter(s, options...)
			require.NoError(t, err)
			long := strings.Repeat("long ", 100_000)
			for n := 0; n < total; n += len(long) {
				w.Record().Metric().SetUnit(fmt.Sprint(n, long))
				if w.Write() != nil || w.Flush() != nil {
					break // the server has ended the stream
				}
			}
			err = s.Drain(within(t, 10*time.Second))
			if code == codes.OK {
				require.NoError(t, err)
				return
			}
			var e *stefgrpc.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, code, e.Code, "%v", err)
			require.Equal(t, stefgrpc.KindLimit, e.Kind)
		})
	}
	f("a client that keeps to it", 0, 3*limit, codes.OK)
	f("a client that counts otherwise", 2*limit, 8*limit, codes.OK)
	f("a client that does not care", 1<<30, 3*limit+slack, codes.ResourceExhausted)
}
