// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.uber.org/zap"

	"github.com/otelstef/stef/internal/signal"
)

// A batch that is larger than the whole queue is refused with a permanent error, and counted.
// Otherwise, with a storage, the Collector's queue would wait forever for space. A batch as large as
// the queue is delivered.
func TestBatchLargerThanQueue(t *testing.T) {
	names := make([]string, 101)
	for i := range names {
		names[i] = fmt.Sprint("span ", i)
	}
	for _, sizer := range []exporterhelper.RequestSizerType{exporterhelper.RequestSizerTypeItems, exporterhelper.RequestSizerTypeBytes} {
		for kind := range 4 {
			stored, block := kind&1 > 0, kind&2 > 0
			t.Run(fmt.Sprint(sizer.String(), stored, block), func(t *testing.T) {
				p := listen(t, &peer{}, "", true, false)
				c := testConfig(p.addr)
				queue := exporterhelper.NewDefaultQueueConfig()
				queue.Sizer, queue.QueueSize, queue.BlockOnOverflow = sizer, 100, block
				if stored {
					queue.StorageID = &storeID
				}
				whole := spans(names[:100]...)
				if sizer == exporterhelper.RequestSizerTypeBytes {
					queue.QueueSize = int64(signal.Traces.Size(whole))
				}
				c.QueueConfig = configoptional.Some(queue)
				x := startOn(t, c, storeHost{componenttest.NewNopHost(), &store{data: map[string][]byte{}}}, zap.NewNop())
				defer func() { require.NoError(t, x.Shutdown(context.Background())) }()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := x.ConsumeTraces(ctx, spans(names...))
				require.True(t, consumererror.IsPermanent(err), "%v", err)
				require.ErrorContains(t, err, "raise sending_queue::queue_size")
				dropped(t, x, map[string]int64{dropTooLarge: 101})
				_, err = x.telemetry.GetMetric("otelcol_exporter_enqueue_failed_spans")
				require.Error(t, err, "the items are counted twice")
				require.NoError(t, x.ConsumeTraces(ctx, whole))
				require.Eventually(t, func() bool { n, _ := p.got(); return n == 100 }, time.Minute, time.Millisecond)
			})
		}
	}
}
