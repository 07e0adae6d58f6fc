// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/otelstef/stef/internal/teltest/canon"
	stef "github.com/otelstef/stef/stef-go"
)

// dictionaryFile writes a dictionary and returns its path. The dictionary consists of the
// first recorded message of each signal, uncompressed.
func dictionaryFile(t testing.TB) string {
	t.Helper()
	e := newEncoding(t, "{compression: none}")
	var content []byte
	add := func(message []byte, err error) {
		require.NoError(t, err)
		content = append(content, message...)
	}
	add(e.MarshalMetrics(recordedMetrics(t)[0]))
	add(e.MarshalTraces(recordedTraces(t)[0]))
	add(e.MarshalLogs(recordedLogs(t)[0]))
	path := filepath.Join(t.TempDir(), "dictionary")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func TestDictionary(t *testing.T) {
	path := dictionaryFile(t)
	with := newEncoding(t, fmt.Sprintf("{dictionary: %q}", path))
	reader := newEncoding(t, fmt.Sprintf("{read_dictionaries: [%q]}", path))
	without := newEncoding(t, "{}")
	smaller := 0
	for _, ld := range recordedLogs(t) {
		message, err := with.MarshalLogs(ld)
		require.NoError(t, err)
		plain, err := without.MarshalLogs(ld)
		require.NoError(t, err)
		smaller += len(plain) - len(message)
		for _, e := range []*stefEncoding{with, reader} {
			got, err := e.UnmarshalLogs(message)
			require.NoError(t, err)
			require.Empty(t, canon.Diff(items.Logs(ld), items.Logs(got)))
			_, err = e.UnmarshalLogs(plain)
			require.NoError(t, err)
		}
		_, err = without.UnmarshalLogs(message)
		require.ErrorIs(t, err, stef.ErrZstdDict)
		require.ErrorContains(t, err, "set `dictionary` or `read_dictionaries`")
		require.True(t, consumererror.IsPermanent(err))
	}
	require.Positive(t, smaller)
}

func TestDictionaryConfig(t *testing.T) {
	_, err := load(t, "{compression: none, dictionary: file}")
	require.ErrorContains(t, err, "dictionary has no effect with compression none")
	_, err = load(t, "{read_dictionaries: [a, b, c, d]}")
	require.ErrorContains(t, err, "read_dictionaries has 4 files")
	config, err := load(t, "{dictionary: missing-file}")
	require.NoError(t, err)
	_, err = newExtension(config, extensiontest.NewNopSettings(typ))
	require.ErrorContains(t, err, "dictionary: open missing-file")
}

// BenchmarkSizeWithDictionary is like BenchmarkSize, but compares messages with and without the
// dictionary of dictionaryFile. It does not measure the messages in the dictionary.
func BenchmarkSizeWithDictionary(b *testing.B) {
	forms := dictionaryForms(b)
	for _, s := range recordings(b) {
		for _, n := range messageItems[:3] {
			messages := s.cut(b, s.parts[1:], n)
			for _, f := range forms {
				b.Run(fmt.Sprintf("set=%s/items=%d/dictionary=%s", s.name, n, f.name), func(b *testing.B) {
					for b.Loop() {
					}
					b.ReportMetric(f.perItem(b, messages), "B/item")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// dictionaryForms returns two forms: STEF without and with a shared dictionary.
func dictionaryForms(tb testing.TB) []form {
	return []form{
		stefForm(tb, "without", "{}"),
		stefForm(tb, "with", fmt.Sprintf("{dictionary: %q}", dictionaryFile(tb))),
	}
}
