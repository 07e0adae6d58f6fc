// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// The test encodes the real sets to sorted streams. In the published schema, they are not larger than
// the streams of the reference implementation, whose sizes in bytes are listed here. In the full
// schema, they have at most the bytes that are listed here.
func TestSizesOfSortedMetrics(t *testing.T) {
	f := func(name string, mds []pmetric.Metrics, want int, options ...stef.WriterOption) {
		t.Helper()
		got := len(encodeMetrics(t, mds, stefpdata.Sorted, options...))
		t.Logf("%s: %d bytes, at most %d", name, got, want)
		if got > want {
			t.Errorf("%s: %d bytes, at most %d", name, got, want)
		}
	}
	published, zstd := otelstef.PublishedMetrics(), stef.WithCompression(stef.Zstd)

	hip := realMetrics(t, hipstershop)
	f("hipstershop, published", hip, 441_617, published)
	f("hipstershop, published, zstd", hip, 90_908, published, zstd)
	f("hipstershop, full, zstd", hip, 90_500, zstd)

	host := realMetrics(t, hostandcollector)
	f("hostandcollector, published", host, 1_493_647, published)
	f("hostandcollector, published, zstd", host, 246_860, published, zstd)
	f("hostandcollector, full, zstd", host, 246_860, zstd)

	one := []pmetric.Metrics{oneBatch(host)}
	f("hostandcollector in one batch, published", one, 1_266_974, published)
	f("hostandcollector in one batch, published, zstd", one, 80_470, published, zstd)
	f("hostandcollector in one batch, full, zstd", one, 80_470, zstd)
}
