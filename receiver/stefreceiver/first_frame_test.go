// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// TestFirstFrameLargerThanBatch checks that a stream requests admission for its first batch, not for its
// whole first frame. Each batch fits into the free 2 MiB, but the whole frame does not. A request for
// the frame would be refused, because the frame is larger than the waiting limit.
func TestFirstFrameLargerThanBatch(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(func(c *Config) {
		c.MaxBatchMiB = 1
		c.Admission = AdmissionConfig{RequestLimitMiB: 8, WaitingLimitMiB: 2}
	}), to)
	md := points(3 << 10)
	dps := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints()
	dps.RemoveIf(func(dp pmetric.NumberDataPoint) bool {
		dp.Attributes().PutStr("text", fmt.Sprint(dp.IntValue(), strings.Repeat("x", mib>>10)))
		return false
	})
	var others usage
	r.shared.admission.adjust(&others, 6*mib)
	err := metricKind.mustOpen(t, r.dial()).deliver(md)
	r.shared.admission.release(&others, 6*mib)
	require.NoError(t, err)
	require.Equal(t, dps.Len(), metrics.DataPointCount())
	require.Greater(t, len(metrics.AllMetrics()), 2)
}
