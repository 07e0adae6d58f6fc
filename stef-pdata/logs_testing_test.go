// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// The real sets of logs.
var logSets = []string{"kafka", "webnodes", "cloudtrail", "astronomy", "k8sapps"}

func logParts(tb testing.TB, name string) [][]byte {
	return teltest.Parts(tb, teltest.Data(tb, "logs", name+"-otellogs.zst"))
}

// recordedLogs returns the parts of the fixture.
func recordedLogs(tb testing.TB) []plog.Logs {
	parts, err := fixtures.Parts(fixtures.Logs())
	require.NoError(tb, err)
	return unmarshalLogs(tb, parts)
}

func unmarshalLogs(tb testing.TB, parts [][]byte) []plog.Logs {
	tb.Helper()
	return unmarshalEach(tb, (&plog.ProtoUnmarshaler{}).UnmarshalLogs, parts)
}

// oneBatchOfLogs returns all resources of lds in one batch.
func oneBatchOfLogs(lds []plog.Logs) plog.Logs {
	all := plog.NewLogs()
	for _, ld := range lds {
		for _, rl := range ld.ResourceLogs().All() {
			rl.CopyTo(all.ResourceLogs().AppendEmpty())
		}
	}
	return all
}

// encodeLogs writes a stream with a frame for each batch.
func encodeLogs(tb testing.TB, lds []plog.Logs, mode stefpdata.Mode, options ...stef.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, options...)
	require.NoError(tb, err)
	encodeEach(tb, w, stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode)).Encode, lds)
	return out.Bytes()
}

// decodeLogs reads a whole stream, in as many batches as Decode returns.
func decodeLogs(tb testing.TB, stream []byte, options ...stefpdata.DecoderOption) []plog.Logs {
	tb.Helper()
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	return decodeEach(tb, stefpdata.NewLogsDecoder(r, options...).Decode, plog.Logs.LogRecordCount)
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
