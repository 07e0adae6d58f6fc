// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
)

func TestGuessFormat(t *testing.T) {
	f := func(name, head string, want otlpfile.Format) {
		t.Helper()
		require.Equal(t, want, otlpfile.GuessFormat(name, []byte(head)))
	}
	f("", `{"resourceLogs":[]}`, otlpfile.JSON)
	f("", "\n  {\n  \"resourceLogs\": []}", otlpfile.JSON)
	f("", "\n{\n\"resourceLogs\":[]}", otlpfile.JSON)
	f("x.pb", "{}", otlpfile.JSON)
	f("", "\x0a\x02\x12\x00", otlpfile.Proto)
	f("x.json", "\x0a\x02\x12\x00", otlpfile.Proto)
	f("", "\x00\x00\x00\x04\x0a\x02\x12\x00", otlpfile.Parts)
	f("", "\x00\x00\x00\x00", otlpfile.Parts)
	f("", "\x00\x00\x10\x00\x12\x02", otlpfile.FormatUnknown)
	f("", "\xff\x00\x00\x00\x0a", otlpfile.FormatUnknown)
	f("", "STEF\x02", otlpfile.FormatUnknown)
	f("", "\x00\x00", otlpfile.FormatUnknown)

	f("", "", otlpfile.FormatUnknown)
	f("a.json", "", otlpfile.JSON)
	f("A.JSONL.gz", "", otlpfile.JSON)
	f("a.json.zst", "\n", otlpfile.JSON)
	f("a.pb", "", otlpfile.Proto)
	f("a.parts.zst", "", otlpfile.Parts)
	f("a.otlp", "", otlpfile.Parts)
	f("a.otlp.zst", "", otlpfile.Parts)
	f("json/a", "", otlpfile.FormatUnknown)
}

// A message whose first entry has 123 bytes begins like JSON: with a line break
// and a brace.
func TestGuessFormatBrace(t *testing.T) {
	for n := range 200 {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		rl.SetSchemaUrl(strings.Repeat("x", n))
		rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().SetTimestamp(1)
		b, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
		require.NoError(t, err)
		require.Equal(t, otlpfile.Proto, otlpfile.GuessFormat("", b), "% x", b[:10])
		require.Equal(t, otlpfile.Logs, otlpfile.GuessSignal("", otlpfile.Proto, b))
	}
}

func TestGuessSignal(t *testing.T) {
	f := func(name string, format otlpfile.Format, head []byte, want otlpfile.Signal) {
		t.Helper()
		require.Equal(t, want, otlpfile.GuessSignal(name, format, head))
	}
	metric := func(change func(pmetric.Metric)) []byte {
		md := pmetric.NewMetrics()
		change(md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty())
		b, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
		require.NoError(t, err)
		return b
	}
	span := func(change func(ptrace.Span)) []byte {
		td := ptrace.NewTraces()
		change(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty())
		b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		require.NoError(t, err)
		return b
	}
	record := func(change func(plog.LogRecord)) []byte {
		ld := plog.NewLogs()
		change(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty())
		b, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
		require.NoError(t, err)
		return b
	}

	// One field may be enough to decide.
	f("", otlpfile.Proto, metric(func(m pmetric.Metric) { m.SetName("up") }), otlpfile.Metrics)
	f("", otlpfile.Proto, metric(func(m pmetric.Metric) {
		// These texts are as long as the ids of a span.
		m.SetName("sixteen.letters.")
		m.SetDescription("8 bytes.")
		m.SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(1)
	}), otlpfile.Metrics)
	f("", otlpfile.Proto, span(func(s ptrace.Span) { s.SetStartTimestamp(1) }), otlpfile.Traces)
	f("", otlpfile.Proto, record(func(r plog.LogRecord) { r.SetTimestamp(1) }), otlpfile.Logs)
	f("", otlpfile.Proto, record(func(r plog.LogRecord) { r.SetSeverityNumber(1) }), otlpfile.Logs)

	// The items do not identify the signal. The name does, if it contains exactly one signal.
	nothing := []byte{0x0a, 2, 0x12, 0}
	f("", otlpfile.Proto, nothing, otlpfile.SignalUnknown)
	f("a/hostmetrics.otlp.zst", otlpfile.Proto, nothing, otlpfile.Metrics)
	f(`C:\logs\traces.pb`, otlpfile.Proto, nothing, otlpfile.Traces)
	f("spans.gz", otlpfile.Proto, nothing, otlpfile.Traces)
	f("logs/file", otlpfile.Proto, nothing, otlpfile.SignalUnknown)
	f("APP-LOGS.json", otlpfile.JSON, nil, otlpfile.Logs)
	f("metrics-and-logs", otlpfile.Proto, nothing, otlpfile.SignalUnknown)

	// The content has priority over the name.
	f("metrics", otlpfile.Proto, record(func(r plog.LogRecord) { r.SetTimestamp(1) }), otlpfile.Logs)
	f("metrics", otlpfile.JSON, []byte(`{"resourceSpans":[]}`), otlpfile.Traces)
	f("", otlpfile.JSON, []byte(`{}`), otlpfile.SignalUnknown)
	f("", otlpfile.FormatUnknown, []byte(`{"resourceSpans":[]}`), otlpfile.SignalUnknown)

	// A field of a newer protocol version does not hide the known fields.
	f("", otlpfile.Proto, append(record(func(r plog.LogRecord) { r.SetTimestamp(1) }), 0x7a, 1, 'x'), otlpfile.Logs)

	// Later parts may decide if the first part does not decide.
	parts := append([]byte{0, 0, 0, 4}, nothing...)
	tail := span(func(s ptrace.Span) { s.SetKind(1); s.SetEndTimestamp(1) })
	parts = append(append(parts, 0, 0, 0, byte(len(tail))), tail...)
	f("", otlpfile.Parts, parts, otlpfile.Traces)
}

// For a head that ends anywhere in the first part, the guess is the right
// signal or none, and a short head is enough.
func TestGuessSignalOfShortHead(t *testing.T) {
	for signal, file := range files {
		parts, err := fixtures.Parts(file)
		require.NoError(t, err)
		batches, err := readAll(open(t, file))
		require.NoError(t, err)
		for i, part := range parts {
			known := batches[i].Items() == 0 // a part without items shows no signal
			for n := 0; n < min(len(part), 3000); n += 1 + n/50 {
				got := otlpfile.GuessSignal("", otlpfile.Proto, part[:n])
				if got != signal && got != otlpfile.SignalUnknown {
					t.Fatalf("%d bytes of %s look like %s: %x", n, signal, got, part[:n])
				}
				known = known || got == signal
			}
			require.True(t, known)
		}
	}
}

func TestNames(t *testing.T) {
	require.Equal(t, "[metrics traces logs]", fmt.Sprint(otlpfile.Signals()))
	require.Equal(t, "otlp-parts otlp otlp-json Format(77) Signal(78) Compression(79)",
		strings.Join([]string{otlpfile.Parts.String(), otlpfile.Proto.String(), otlpfile.JSON.String(), otlpfile.Format(77).String(), otlpfile.Signal(78).String(), otlpfile.Compression(79).String()}, " "))

	c := func(name string, want otlpfile.Compression) {
		t.Helper()
		require.Equal(t, want, otlpfile.CompressionOf(name))
	}
	c("a.zst", otlpfile.Zstd)
	c("A.ZSTD", otlpfile.Zstd)
	c("a.json.gz", otlpfile.Gzip)
	c("a.zst/b", otlpfile.None)
	c("", otlpfile.None)
}
