// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Decode returns the available items, and does not wait for data after a frame.
func TestDecodeDoesNotWait(t *testing.T) {
	for _, options := range [][]stef.WriterOption{nil, {stef.WithCompression(stef.Zstd)}} {
		mds, tds, lds := recordedMetrics(t)[5:8], recordedTraces(t)[5:8], recordedLogs(t)[5:8]

		var metrics fieldRef
		m, err := otelstef.NewMetricsWriter(&metrics, options...)
		require.NoError(t, err)
		var toMetrics *stefpdata.MetricsDecoder
		me := stefpdata.NewMetricsEncoder(m)
		for _, md := range mds {
			require.NoError(t, errors.Join(me.Encode(md), m.Flush()))
			if toMetrics == nil {
				r, err := otelstef.NewMetricsReader(&metrics)
				require.NoError(t, err)
				toMetrics = stefpdata.NewMetricsDecoder(r)
			}
			got, err := toMetrics.Decode()
			require.NoError(t, err)
			requireSame(t, stefpdata.Sorted, []pmetric.Metrics{md}, []pmetric.Metrics{got})
		}

		var traces fieldRef
		s, err := otelstef.NewSpansWriter(&traces, options...)
		require.NoError(t, err)
		var toTraces *stefpdata.TracesDecoder
		te := stefpdata.NewTracesEncoder(s)
		for _, td := range tds {
			require.NoError(t, errors.Join(te.Encode(td), s.Flush()))
			if toTraces == nil {
				r, err := otelstef.NewSpansReader(&traces)
				require.NoError(t, err)
				toTraces = stefpdata.NewTracesDecoder(r)
			}
			got, err := toTraces.Decode()
			require.NoError(t, err)
			requireSameTraces(t, stefpdata.Sorted, []ptrace.Traces{td}, []ptrace.Traces{got})
		}

		var logs fieldRef
		l, err := otelstef.NewLogsWriter(&logs, options...)
		require.NoError(t, err)
		var toLogs *stefpdata.LogsDecoder
		le := stefpdata.NewLogsEncoder(l)
		for _, ld := range lds {
			require.NoError(t, errors.Join(le.Encode(ld), l.Flush()))
			if toLogs == nil {
				r, err := otelstef.NewLogsReader(&logs)
				require.NoError(t, err)
				toLogs = stefpdata.NewLogsDecoder(r)
			}
			got, err := toLogs.Decode()
			require.NoError(t, err)
			requireSameLogs(t, stefpdata.Sorted, []plog.Logs{ld}, []plog.Logs{got})
		}

		for _, l := range []*fieldRef{&metrics, &traces, &logs} {
			require.Zero(t, l.waited)
		}
	}
}

// link is a connection that never blocks. If no data is available, a read returns an
// error instead of waiting.
type fieldRef struct {
	bytes.Buffer
	waited int
}

var errWaits = errors.New("nothing has arrived")

func (l *fieldRef) Read(b []byte) (int, error) {
	if l.Len() == 0 {
		l.waited++
		return 0, errWaits
	}
	return l.Buffer.Read(b)
}
