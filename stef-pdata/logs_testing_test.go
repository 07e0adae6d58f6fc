// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/internal/fixtures"
	descriptors "github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/internal/teltest/canon"
)

var logSets = []string{"kafka", "webnodes", "cloudtrail", "astronomy", "k8sapps"}

func logParts(tb testing.TB, name string) [][]byte {
	return teltest.Parts(tb, teltest.Data(tb, "logs", name+"-otellogs.zst"))
}

func recordedLogs(tb testing.TB) []plog.Logs {
	parts, err := fixtures.Parts(fixtures.Logs())
	require.NoError(tb, err)
	return unmarshalLogs(tb, parts)
}

func unmarshalLogs(tb testing.TB, parts [][]byte) []plog.Logs {
	tb.Helper()
	return unmarshal(tb, descriptors.Logs, parts)
}

func oneBatchOfLogs(lds []plog.Logs) plog.Logs { return one(descriptors.Logs, lds) }

func encodeLogs(tb testing.TB, lds []plog.Logs, mode stefpdata.Mode, options ...stef.WriterOption) []byte {
	tb.Helper()
	return encode(tb, descriptors.Logs, lds, mode, options...)
}

func decodeLogs(tb testing.TB, stream []byte, options ...stefpdata.DecoderOption) []plog.Logs {
	tb.Helper()
	return decode(tb, descriptors.Logs, stream, options...)
}

// requireSameLogs checks that logs survived the round trip as the mode promises.
func requireSameLogs(tb testing.TB, mode stefpdata.Mode, want, got []plog.Logs) {
	tb.Helper()
	if mode == stefpdata.Ordered {
		require.Empty(tb, canon.DiffOrderedLogs(oneBatchOfLogs(want), oneBatchOfLogs(got)))
		return
	}
	require.Empty(tb, canon.Diff(sorted.Logs(want...), sorted.Logs(got...)))
}
