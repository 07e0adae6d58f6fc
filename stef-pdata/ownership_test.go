// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/internal/teltest/canon"
)

// Encoders keep no reference to a batch. After Encode returns, the caller may overwrite the batch,
// even before the flush. If a later batch repeats the original content, it is still written
// correctly.
func TestEncodersKeepNoReference(t *testing.T) {
	for seed := range uint64(60) {
		r := newRandom(seed)
		mds, tds, lds := []pmetric.Metrics{r.metrics(), r.metrics()}, []ptrace.Traces{r.traces(), r.traces()}, []plog.Logs{r.logs(), r.logs()}
		mds, tds, lds = append(mds, mds...), append(tds, tds...), append(lds, lds...)
		for _, mode := range modes {
			var out bytes.Buffer
			m, err := otelstef.NewMetricsWriter(&out)
			require.NoError(t, err)
			metrics := stefpdata.NewMetricsEncoder(m, stefpdata.WithMode(mode))
			for _, md := range mds {
				md = oneBatch([]pmetric.Metrics{md})
				require.NoError(t, metrics.Encode(md))
				scribbleMetrics(md)
				require.NoError(t, m.Flush())
			}
			require.NoError(t, m.Close())
			require.Equal(t, encodeMetrics(t, mds, mode), out.Bytes(), "seed %d, %v", seed, mode)

			out.Reset()
			s, err := otelstef.NewSpansWriter(&out)
			require.NoError(t, err)
			traces := stefpdata.NewTracesEncoder(s, stefpdata.WithMode(mode))
			for _, td := range tds {
				td = oneTraces([]ptrace.Traces{td})
				require.NoError(t, traces.Encode(td))
				scribbleTraces(td)
				require.NoError(t, s.Flush())
			}
			require.NoError(t, s.Close())
			require.Equal(t, encodeTraces(t, tds, mode), out.Bytes(), "seed %d, %v", seed, mode)

			out.Reset()
			l, err := otelstef.NewLogsWriter(&out)
			require.NoError(t, err)
			logs := stefpdata.NewLogsEncoder(l, stefpdata.WithMode(mode))
			for _, ld := range lds {
				ld = oneBatchOfLogs([]plog.Logs{ld})
				require.NoError(t, logs.Encode(ld))
				scribbleLogs(ld)
				require.NoError(t, l.Flush())
			}
			require.NoError(t, l.Close())
			require.Equal(t, encodeLogs(t, lds, mode), out.Bytes(), "seed %d, %v", seed, mode)
		}
	}
}

// Callers own decoded batches. Overwriting a batch does not change later batches, even if
// they repeat its content.
func TestDecodersKeepNoReference(t *testing.T) {
	for seed := range uint64(60) {
		r := newRandom(seed)
		md, td, ld := r.metrics(), r.traces(), r.logs()
		items := stefpdata.WithMaxItems(pick(r, 1, 2, 5))

		metrics, err := otelstef.NewMetricsReader(bytes.NewReader(encodeMetrics(t, []pmetric.Metrics{md, md}, stefpdata.Ordered)))
		require.NoError(t, err)
		gotMetrics := takeAll(t, stefpdata.NewMetricsDecoder(metrics, items).Decode, func(md pmetric.Metrics) pmetric.Metrics {
			kept := oneBatch([]pmetric.Metrics{md})
			scribbleMetrics(md)
			return kept
		})
		requireSame(t, stefpdata.Ordered, []pmetric.Metrics{md, md}, gotMetrics)

		spans, err := otelstef.NewSpansReader(bytes.NewReader(encodeTraces(t, []ptrace.Traces{td, td}, stefpdata.Ordered)))
		require.NoError(t, err)
		gotTraces := takeAll(t, stefpdata.NewTracesDecoder(spans, items).Decode, func(td ptrace.Traces) ptrace.Traces {
			kept := oneTraces([]ptrace.Traces{td})
			scribbleTraces(td)
			return kept
		})
		requireSameTraces(t, stefpdata.Ordered, []ptrace.Traces{td, td}, gotTraces)

		logs, err := otelstef.NewLogsReader(bytes.NewReader(encodeLogs(t, []plog.Logs{ld, ld}, stefpdata.Ordered)))
		require.NoError(t, err)
		gotLogs := takeAll(t, stefpdata.NewLogsDecoder(logs, items).Decode, func(ld plog.Logs) plog.Logs {
			kept := oneBatchOfLogs([]plog.Logs{ld})
			scribbleLogs(ld)
			return kept
		})
		requireSameLogs(t, stefpdata.Ordered, []plog.Logs{ld, ld}, gotLogs)
	}
}

// takeAll decodes all batches, calls take for each of them, and returns the results of take.
func takeAll[P any](t *testing.T, decode func() (P, error), take func(P) P) (all []P) {
	t.Helper()
	for {
		batch, err := decode()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, take(batch))
	}
}

// TestScribbling checks that the functions scribbleMetrics, scribbleTraces and scribbleLogs change
// items.
func TestScribbling(t *testing.T) {
	mds, tds, lds := recordedMetrics(t)[:9], recordedTraces(t)[:9], recordedLogs(t)[:9]
	md, td, ld := oneBatch(mds), oneTraces(tds), oneBatchOfLogs(lds)
	scribbleMetrics(md)
	scribbleTraces(td)
	scribbleLogs(ld)
	require.NotEmpty(t, canon.Diff(canon.Metrics(mds...), canon.Metrics(md)))
	require.NotEmpty(t, canon.Diff(canon.Traces(tds...), canon.Traces(td)))
	require.NotEmpty(t, canon.Diff(canon.Logs(lds...), canon.Logs(ld)))
}

// scribble overwrites the values of m in place. If an encoder or decoder still used their memory, it
// would see other values.
func scribble(m pcommon.Map) {
	for _, v := range m.All() {
		scribbleValue(v)
	}
}

func scribbleValue(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeBytes:
		for i := range v.Bytes().Len() {
			v.Bytes().SetAt(i, ^v.Bytes().At(i))
		}
	case pcommon.ValueTypeSlice:
		for _, e := range v.Slice().All() {
			scribbleValue(e)
		}
		v.Slice().AppendEmpty().SetStr("scribbled")
	case pcommon.ValueTypeMap:
		scribble(v.Map())
		v.Map().PutStr("scribbled", "scribbled")
	case pcommon.ValueTypeInt:
		v.SetInt(^v.Int())
	default:
		v.SetStr("scribbled")
	}
}

func scribbleContainers(r pcommon.Resource, s pcommon.InstrumentationScope) {
	scribble(r.Attributes())
	r.Attributes().PutStr("scribbled", "scribbled")
	scribble(s.Attributes())
	s.SetName("scribbled")
}

func scribbleMetrics(md pmetric.Metrics) {
	exemplars := func(es pmetric.ExemplarSlice) {
		for _, e := range es.All() {
			scribble(e.FilteredAttributes())
			e.SetTimestamp(^e.Timestamp())
		}
	}
	counts := func(values pcommon.UInt64Slice) {
		for i := range values.Len() {
			values.SetAt(i, ^values.At(i))
		}
	}
	numbers := func(ps pmetric.NumberDataPointSlice) {
		for _, p := range ps.All() {
			scribble(p.Attributes())
			p.SetIntValue(77)
			exemplars(p.Exemplars())
		}
	}
	metric := func(m pmetric.Metric) {
		m.SetName("scribbled")
		scribble(m.Metadata())
		switch m.Type() {
		case pmetric.MetricTypeGauge:
			numbers(m.Gauge().DataPoints())
		case pmetric.MetricTypeSum:
			numbers(m.Sum().DataPoints())
		case pmetric.MetricTypeHistogram:
			for _, p := range m.Histogram().DataPoints().All() {
				scribble(p.Attributes())
				counts(p.BucketCounts())
				for i := range p.ExplicitBounds().Len() {
					p.ExplicitBounds().SetAt(i, 77)
				}
				exemplars(p.Exemplars())
			}
		case pmetric.MetricTypeExponentialHistogram:
			for _, p := range m.ExponentialHistogram().DataPoints().All() {
				scribble(p.Attributes())
				counts(p.Positive().BucketCounts())
				counts(p.Negative().BucketCounts())
				exemplars(p.Exemplars())
			}
		case pmetric.MetricTypeSummary:
			for _, p := range m.Summary().DataPoints().All() {
				scribble(p.Attributes())
				for _, q := range p.QuantileValues().All() {
					q.SetValue(77)
				}
			}
		}
	}
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			scribbleContainers(rm.Resource(), sm.Scope())
			for _, m := range sm.Metrics().All() {
				metric(m)
			}
		}
	}
}

func scribbleTraces(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			scribbleContainers(rs.Resource(), ss.Scope())
			for _, s := range ss.Spans().All() {
				scribble(s.Attributes())
				s.SetName("scribbled")
				for _, e := range s.Events().All() {
					scribble(e.Attributes())
				}
				for _, l := range s.Links().All() {
					scribble(l.Attributes())
				}
			}
		}
	}
}

func scribbleLogs(ld plog.Logs) {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			scribbleContainers(rl.Resource(), sl.Scope())
			for _, lr := range sl.LogRecords().All() {
				scribble(lr.Attributes())
				scribbleValue(lr.Body())
				lr.SetSeverityText("scribbled")
			}
		}
	}
}

// Read-only batches, which the Collector shares between pipelines, are converted like
// other batches. A change to a read-only batch would panic.
func TestReadOnlyBatches(t *testing.T) {
	for seed := range uint64(30) {
		r := newRandom(seed)
		md, td, ld := r.metrics(), r.traces(), r.logs()
		for _, mode := range modes {
			metrics, traces, logs := oneBatch([]pmetric.Metrics{md}), oneTraces([]ptrace.Traces{td}), oneBatchOfLogs([]plog.Logs{ld})
			metrics.MarkReadOnly()
			traces.MarkReadOnly()
			logs.MarkReadOnly()
			require.Equal(t, encodeMetrics(t, []pmetric.Metrics{md}, mode), encodeMetrics(t, []pmetric.Metrics{metrics}, mode))
			require.Equal(t, encodeTraces(t, []ptrace.Traces{td}, mode), encodeTraces(t, []ptrace.Traces{traces}, mode))
			require.Equal(t, encodeLogs(t, []plog.Logs{ld}, mode), encodeLogs(t, []plog.Logs{logs}, mode))
		}
	}
}
