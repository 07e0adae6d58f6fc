// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// TestSessionOfManyRejects: a server rejects every second record of large batches. Each batch still
// gets its answer, for several values of WithAckInterval, and whether the handler acknowledges at the
// end of a frame or within a frame.
func TestSessionOfManyRejects(t *testing.T) {
	const callers = 3
	records := uint64(200_000)
	if testing.Short() {
		records = 20_000
	}
	handler := func(every uint64) stefgrpc.HandlerFunc {
		return func(s *stefgrpc.ServerStream) error {
			r, err := otelstef.NewLogsReader(s, s.ReaderOptions()...)
			if err != nil {
				return err
			}
			defer r.Close()
			for r.Next() {
				id := r.Stats().Records
				if r.Record().Record().Time()%2 == 0 {
					s.Reject(id, id)
				}
				if r.BufferedRecords() == 0 || id%every == 0 {
					s.AckUpTo(id)
				}
			}
			return r.Err()
		}
	}
	f := func(name string, every uint64, options ...stefgrpc.ServerOption) {
		inBubble(t, name, func(t *testing.T) {
			x := newSite(t)
			server, register := x.stef(handler(every), options...)
			x.serve(register)
			session, end := x.session(stefgrpc.SessionConfig{})
			var wg sync.WaitGroup
			for c := range uint64(callers) {
				wg.Go(func() {
					err := session.Send(patience(time.Minute), times{c*records + 1, (c + 1) * records})
					var rejected *stefgrpc.RejectedError
					if assert.ErrorAs(t, err, &rejected) {
						require.EqualValues(t, records/2, rejected.Records)
						require.Len(t, rejected.Ranges, int(records/2))
					}
				})
			}
			wg.Wait()
			end()
			stats := server.Stats()
			require.EqualValues(t, callers*records, stats.AckedRecords)
			require.EqualValues(t, callers*records/2, stats.RejectedRecords)
			require.EqualValues(t, 1, stats.Opened, "a stream ended early")
		})
	}
	whole := callers * records // acknowledge only at the ends of frames
	f("default", whole)
	f("default, and within frames", 1000)
	f("1 ms, and within frames", 1000, stefgrpc.WithAckInterval(time.Millisecond))
	f("at once, and within frames", 1000, stefgrpc.WithAckInterval(0))
}
