// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/otelstef/stef/internal/teltest/benchdata"
)

// The first line of the output of benchmarks names their data.
var _ = benchdata.Name("synthetic: texts of the test")

// BenchmarkMeter estimates the compressed size of a column whose texts repeat in part.
func BenchmarkMeter(b *testing.B) {
	column := []byte(strings.Join(requests(rand.New(rand.NewPCG(7, 8)), 80), "\n"))
	var m meter
	b.SetBytes(int64(len(column)))
	b.ReportAllocs()
	for b.Loop() {
		m.bits(column, literalBits)
		m.forget()
	}
}
