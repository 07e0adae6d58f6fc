// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// A message of another signal is refused as a whole, with an error that names the signal
// and the encoder.
func TestForeignMessages(t *testing.T) {
	encoders := map[string]string{"metrics": "MetricsEncoder", "traces": "TracesEncoder", "logs": "LogsEncoder"}
	real := map[string][][]byte{
		"metrics": fixture(t, fixtures.Metrics()),
		"traces":  fixture(t, fixtures.Traces()),
		"logs":    fixture(t, fixtures.Logs()),
	}
	real["metrics"] = append(real["metrics"], inScope(gauge(point())))
	for _, own := range signals {
		empty, err := own.encode(t, nil)
		require.NoError(t, err)
		for name, messages := range real {
			empties := 0
			for _, message := range messages {
				stream, err := own.encode(t, message)
				if name == own.name {
					continue
				}
				require.Equal(t, empty, stream)
				if err == nil {
					empties++ // without items, a message has no signal
					continue
				}
				var refused *stefotlp.WireError
				require.ErrorAs(t, err, &refused, "%s as %s", name, own.name)
				require.ErrorIs(t, err, stefotlp.ErrDamaged)
				require.ErrorContains(t, err, "it holds "+name+", not "+own.name+": use a "+encoders[name])
			}
			require.Less(t, empties, len(messages)/2)
		}
	}
}

// A gauge without a description looks like a span if its name has the length of a trace id. If a
// message has such a gauge, the encoder of traces omits only the other items.
func TestForeignItemsThatFit(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewSpansWriter(&out)
	require.NoError(t, err)
	fits := append(field(1, text("process.cpu.time")), field(5, point())...)
	var left stefotlp.ItemErrors
	require.ErrorAs(t, stefotlp.NewTracesEncoder(w).EncodeOTLP(inScope(fits, gauge(point()))), &left)
	require.Equal(t, 1, left.Items())
	require.Equal(t, uint64(1), w.Stats().Records)
}

// If an item of the encoder's own signal is damaged, the error names the item. It does not say that
// the message belongs to another signal.
func TestDamagedItemIsNotForeign(t *testing.T) {
	for _, own := range signals {
		_, err := own.encode(t, inScope([]byte{0x0d, 1, 2})) // cut off in every signal
		var items stefotlp.ItemErrors
		require.ErrorAs(t, err, &items)
		require.NotContains(t, err.Error(), "use a")
	}
}

// If bytes are not an OTLP message, the error says what they look like, such as JSON.
func TestLooksLike(t *testing.T) {
	message := inScope(gauge(point()))
	require.Less(t, len(message), 100)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(message)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	length := []byte{0, 0, 0, byte(len(message))}
	f := func(want string, b []byte) {
		t.Helper()
		for _, own := range signals {
			_, err := own.encode(t, b)
			var refused *stefotlp.WireError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, want)
		}
	}
	f("looks like JSON", []byte(`{"resourceMetrics":[]}`))
	f("compressed with gzip", zipped.Bytes())
	f("compressed with zstd", fixtures.Metrics())
	f("a STEF stream", metrics.encode(t, [][]byte{message}))
	f("the 5 bytes that gRPC puts", append(append([]byte{0}, length...), message...))
	f("its length in 4 bytes", append(length, message...))
	one := append(length, message...)
	f("a field is cut off", make([]byte, 8)) // not a file of two empty messages
	f("it is a file of 3 messages with their lengths in 4 bytes: encode each message", bytes.Repeat(one, 3))
	f("a field is cut off or has a wrong wire type", append(bytes.Repeat(one, 3), 0))
	f("a field is cut off or has a wrong wire type", message[:len(message)-1])
}
