// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/fixtures/recordings"
	"github.com/otelstef/stef/internal/teltest/benchdata"
)

// The benchmarks print the name of their data first.
var _ = benchdata.Name("recordings of the repository")

// BenchmarkOTLP compares two steps of the receiver for decompressed OTLP requests: computing
// the memory that a request needs as pdata, and decoding the request. An operation is all
// requests of the recordings of a signal.
func BenchmarkOTLP(b *testing.B) {
	benchmarkOTLP(b, Traces)
	benchmarkOTLP(b, Metrics)
	benchmarkOTLP(b, Logs)
}

func benchmarkOTLP[T any](b *testing.B, sig *Descriptor[T]) {
	var requests [][]byte
	size := 0
	for _, recording := range recordings.All() {
		if recording.Signal != sig.Name {
			continue
		}
		parts, err := recording.Parts()
		require.NoError(b, err)
		requests = append(requests, parts...)
	}
	for _, request := range requests {
		size += len(request)
	}
	run := func(step string, work func(request []byte) error) {
		b.Run(sig.Name+"/"+step, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, request := range requests {
					if err := work(request); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	run("count", func(request []byte) error {
		_, err := sig.OTLP.Memory(request)
		return err
	})
	run("decode", func(request []byte) error {
		_, err := sig.Unmarshal(request)
		return err
	})
}
