// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// An encoder reads the fields of a message into lists, and a field of two bytes takes 16 or 32 bytes
// in a list. The encoder does not keep the lists of a large message after the call.
func TestEncodersKeepNoLargeLists(t *testing.T) {
	const n = 1 << 20
	long := func(number byte, content ...[]byte) []byte {
		b := bytes.Join(content, nil)
		return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(b))), b...)
	}
	repeated := func(field string) []byte { return bytes.Repeat(text(field), n) }
	inContainers := func(item []byte) []byte { return long(1, long(2, long(2, item))) }
	live := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	f := func(name string, encode func([]byte) error, message []byte) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, encode(nil))
			before := live()
			if err := encode(message); err != nil {
				require.ErrorAs(t, err, new(stefotlp.ItemErrors))
			}
			require.Less(t, live()-before, int64(4<<20))
			require.NoError(t, encode(nil)) // keeps the encoder alive until here
		})
	}
	traces := func(name string, message []byte) {
		w, err := otelstef.NewSpansWriter(io.Discard)
		require.NoError(t, err)
		f(name, stefotlp.NewTracesEncoder(w).EncodeOTLP, message)
	}
	metrics := func(name string, message []byte) {
		w, err := otelstef.NewMetricsWriter(io.Discard)
		require.NoError(t, err)
		f(name, stefotlp.NewMetricsEncoder(w).EncodeOTLP, message)
	}
	traces("attributes", inContainers(repeated("\x4a\x00")))
	traces("events", inContainers(repeated("\x5a\x00")))
	traces("links", inContainers(repeated("\x6a\x00")))
	traces("pieces of a status", inContainers(repeated("\x7a\x02\x18\x01")))
	metrics("exemplars", inContainers(long(5, long(1, repeated("\x2a\x00")))))
	metrics("pieces of positive buckets", inContainers(long(10, long(1, repeated("\x42\x00")))))
	metrics("pieces of negative buckets", inContainers(long(10, long(1, repeated("\x4a\x00")))))
	metrics("bucket counts", inContainers(long(10, long(1, long(8, long(2, repeated("\x01\x01")))))))
	metrics("quantiles", inContainers(long(11, long(1, repeated("\x32\x00")))))
	metrics("metadata", inContainers(bytes.Join([][]byte{repeated("\x62\x00"), gauge(point())}, nil)))
	metrics("resource", long(1, long(1, repeated("\x0a\x00")), long(2, long(2, gauge(point())))))
}
