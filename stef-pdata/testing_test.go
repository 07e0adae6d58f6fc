// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/internal/fixtures"
	descriptors "github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// The first line of the output of benchmarks names their data.
var _ = teltest.BenchSets("recordings of the repository")

const (
	hipstershop      = "hipstershop-otelmetrics"
	hostandcollector = "hostandcollector-otelmetrics"
)

func realMetrics(tb testing.TB, name string) []pmetric.Metrics {
	return unmarshalAll(tb, teltest.Parts(tb, teltest.Data(tb, "metrics", name+".zst")))
}

func recordedMetrics(tb testing.TB) []pmetric.Metrics {
	parts, err := fixtures.Parts(fixtures.Metrics())
	require.NoError(tb, err)
	return unmarshalAll(tb, parts)
}

func unmarshalAll(tb testing.TB, parts [][]byte) []pmetric.Metrics {
	tb.Helper()
	return unmarshal(tb, descriptors.Metrics, parts)
}

func oneBatch(mds []pmetric.Metrics) pmetric.Metrics { return one(descriptors.Metrics, mds) }

func encodeMetrics(tb testing.TB, mds []pmetric.Metrics, mode stefpdata.Mode, options ...stef.WriterOption) []byte {
	tb.Helper()
	return encode(tb, descriptors.Metrics, mds, mode, options...)
}

func decodeMetrics(tb testing.TB, stream []byte, options ...stefpdata.DecoderOption) []pmetric.Metrics {
	tb.Helper()
	return decode(tb, descriptors.Metrics, stream, options...)
}

// sorted makes comparisons ignore the order of attributes, because the mode Sorted changes this order.
var sorted = canon.Options{SortAttributes: true}

// requireSame checks that metrics survived the round trip as the mode promises.
func requireSame(tb testing.TB, mode stefpdata.Mode, want, got []pmetric.Metrics) {
	tb.Helper()
	if mode == stefpdata.Ordered {
		require.Empty(tb, canon.DiffOrderedMetrics(oneBatch(want), oneBatch(got)))
		return
	}
	require.Empty(tb, canon.Diff(sorted.Metrics(want...), sorted.Metrics(got...)))
}

// byReference reports whether telemetry, as JSON, has keys or texts as references to a string table.
// OTLP allows such references only in profiles. The pdata API neither exposes nor sets them, so they
// are lost, as the package doc says.
func byReference(text []byte) bool {
	return bytes.Contains(text, []byte(`"keyStrindex":`)) || bytes.Contains(text, []byte(`"stringValueStrindex":`))
}
