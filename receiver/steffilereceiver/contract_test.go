// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/stef-go/rotate"
)

// generator writes items to files one at a time.
type generator[T any] struct {
	t   *testing.T
	dir string
	sig *signal.Descriptor[T]
	one func(receivertest.UniqueIDAttrVal) T
	w   writer[T]
	ids atomic.Uint64
	put atomic.Uint64 // items that are written
}

// generateCount is the number of items of each scenario.
const generateCount = 200

func (g *generator[T]) Start() {
	g.w = newWriter(g.t, g.sig, rotate.Options{Dir: g.dir, MaxBytes: 8 << 10})
}

// Stop removes the files that the receiver has not deleted before its shutdown. Otherwise the
// receiver of the next scenario would deliver them again: it has no storage.
func (g *generator[T]) Stop() {
	require.NoError(g.t, g.w.Close())
	for _, name := range names(g.t, g.dir) {
		require.NoError(g.t, os.Remove(filepath.Join(g.dir, name)))
	}
}

func (g *generator[T]) Generate() []receivertest.UniqueIDAttrVal {
	id := receivertest.UniqueIDAttrVal(fmt.Sprint(g.ids.Add(1)))
	require.NoError(g.t, g.w.put(g.one(id)))
	if g.put.Add(1)%generateCount == 0 {
		// CheckConsumeContract waits only five seconds for the receiver. On a busy machine the
		// receiver may need more, so wait here.
		require.NoError(g.t, g.w.Close())
		requireFiles(g.t, g.dir, 0)
	}
	return []receivertest.UniqueIDAttrVal{id}
}

func testContract[T any](t *testing.T, kind pipeline.Signal, sig *signal.Descriptor[T], cp func(receivertest.UniqueIDAttrVal) T) {
	dir := t.TempDir()
	receivertest.CheckConsumeContract(receivertest.CheckConsumeContractParams{
		T: t, Factory: NewFactory(), Signal: kind, GenerateCount: generateCount,
		Config:    testConfig(dir, func(c *Config) { c.OnFinished = Delete }),
		Generator: &generator[T]{t: t, dir: dir, sig: sig, one: cp},
	})
}

func TestContract(t *testing.T) {
	t.Run("traces", func(t *testing.T) {
		testContract(t, pipeline.SignalTraces, signal.Traces, func(id receivertest.UniqueIDAttrVal) ptrace.Traces { return receivertest.CreateOneSpanWithID(id) })
	})
	t.Run("metrics", func(t *testing.T) {
		testContract(t, pipeline.SignalMetrics, signal.Metrics, func(id receivertest.UniqueIDAttrVal) pmetric.Metrics { return receivertest.CreateGaugeMetricWithID(id) })
	})
	t.Run("logs", func(t *testing.T) {
		testContract(t, pipeline.SignalLogs, signal.Logs, func(id receivertest.UniqueIDAttrVal) plog.Logs { return receivertest.CreateOneLogWithID(id) })
	})
}
