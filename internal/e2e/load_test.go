// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const batchSize = 100

// load sends numbered log records to a Collector, request after request, until
// it is stopped.
type load struct {
	stopped chan struct{}
	done    sync.WaitGroup

	mu       sync.Mutex
	offered  int64   // the last id that was sent; the first id is 1
	accepted []int64 // ids of acknowledged records
	refused  int     // requests that were not acknowledged
}

// startLoad sends perSecond requests per second to an address, over several connections. Each
// connection has at most one request in flight.
func startLoad(t *testing.T, address string, perSecond, clients int) *load {
	t.Helper()
	l := &load{stopped: make(chan struct{})}
	for range clients {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		l.done.Go(func() {
			defer conn.Close()
			l.send(plogotlp.NewGRPCClient(conn), time.Second*time.Duration(clients)/time.Duration(perSecond))
		})
	}
	t.Cleanup(l.stop)
	return l
}

func (l *load) send(client plogotlp.GRPCClient, pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-l.stopped:
			return
		case <-tick.C:
		}
		first, logs := l.next()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		_, err := client.Export(ctx, plogotlp.NewExportRequestFromLogs(logs))
		cancel()
		l.answered(first, err)
	}
}

func (l *load) next() (first int64, logs plog.Logs) {
	l.mu.Lock()
	first = l.offered + 1
	l.offered += batchSize
	l.mu.Unlock()
	logs = plog.NewLogs()
	rl := logs.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "checkout")
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	records.EnsureCapacity(batchSize)
	for id := first; id < first+batchSize; id++ {
		record := records.AppendEmpty()
		record.SetTimestamp(pcommon.NewTimestampFromTime(time.Now()))
		record.SetSeverityNumber(plog.SeverityNumberInfo)
		record.Body().SetStr(fmt.Sprintf("order %d was placed by customer %d", id, id%97))
		record.Attributes().PutInt(idKey, id)
	}
	return first, logs
}

func (l *load) answered(first int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.refused++
		return
	}
	for id := first; id < first+batchSize; id++ {
		l.accepted = append(l.accepted, id)
	}
}

// stop ends the load and waits for the last answers. It may be called more than
// once.
func (l *load) stop() {
	l.mu.Lock()
	select {
	case <-l.stopped:
	default:
		close(l.stopped)
	}
	l.mu.Unlock()
	l.done.Wait()
}

func (l *load) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.accepted)
}

// results returns the last id that was sent, the acknowledged ids, and the number of refused
// requests.
func (l *load) results() (offered int64, accepted []int64, refused int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.offered, l.accepted, l.refused
}
