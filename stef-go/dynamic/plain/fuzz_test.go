// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"math/rand/v2"
	"testing"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/steftest"
)

// fuzz reads any bytes with both readers and compares the results with requireSame.
func fuzz(f *testing.F, name string) {
	quick := fastOf(name)
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 23))
		recs := steftest.Records(seed, quick.Schema, 10, steftest.Shape{Wide: -1, Depth: 6})
		f.Add(quick.write(f, r, recs, stef.WithCompression(stef.None)))
		f.Add(quick.write(f, r, recs, stef.WithCompression(stef.None), stef.WithDictBytes(300)))
		c := &codes{r, compactRoot(name), map[string]*[2]uint64{}}
		f.Add(c.grow(f, 8))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		requireSame(t, quick, stream)
	})
}

func FuzzMetrics(f *testing.F) { fuzz(f, "Metrics") }
func FuzzSpans(f *testing.F)   { fuzz(f, "Spans") }
func FuzzLogs(f *testing.F)    { fuzz(f, "Logs") }
