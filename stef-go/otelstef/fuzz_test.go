// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"errors"
	"testing"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

// small limits keep a fuzz target fast, because they bound the work of a reader.
var small = stef.Limits{FrameBytes: 1 << 20, DictBytes: 1 << 20, RecordBytes: 128 << 10, Depth: 100, WindowBytes: 256 << 10}

// fuzzReader reads streams with the generated reader and with package dynamic. The records that both
// return must be equal. Both must return an error, or none. The comments in readBothWays and agree state
// the exceptions.
func fuzzReader(f *testing.F, root *steftest.Root, published stef.WriterOption) {
	for seed := range uint64(4) {
		for _, options := range settings {
			f.Add(writeStream(f, root, seed, 2, options...).bytes)
		}
	}
	if published != nil {
		f.Add(writeStream(f, root, 5, 2, published).bytes)
	}
	f.Fuzz(func(t *testing.T, stream []byte) { readBothWays(t, root, stream) })
}

// readBothWays reads a stream twice, with the generated reader and with package dynamic, and
// compares the results. The stream may be damaged.
func readBothWays(t *testing.T, root *steftest.Root, stream []byte) {
	t.Helper()
	generated, err := readGenerated(root, stream)
	byDynamic, errDynamic := readDynamic(root, stream)
	// Package dynamic can return an error at an earlier record than the generated reader: it checks a
	// whole frame before it returns the first record.
	n := min(len(generated), len(byDynamic))
	if diff := steftest.DiffAll(root.Schema, byDynamic[:n], generated[:n]); diff != "" {
		t.Fatal(diff)
	}
	// Only package dynamic checks that zstd has no data left when the stream ends. Such
	// data contains no records.
	rest := compressed(stream) && err == nil && len(generated) == len(byDynamic)
	if n < maxFuzzRecords && !rest {
		agree(t, err, errDynamic)
	}
}

// compressed reports whether a fixed header of the usual size selects zstd.
func compressed(stream []byte) bool { return len(stream) > 6 && stream[6]&3 == byte(stef.Zstd) }

const maxFuzzRecords = 200

func readGenerated(root *steftest.Root, stream []byte) (recs []*dynamic.Struct, err error) {
	r, err := root.NewReader(bytes.NewReader(stream), stef.WithLimits(small))
	if err != nil {
		return nil, err
	}
	kept, err := schema.Keep(root.Schema, r.Schema())
	for err == nil && len(recs) < maxFuzzRecords && r.Next() {
		recs = append(recs, steftest.Value(r.Record(), root.Schema, kept))
	}
	return recs, errors.Join(err, r.Err())
}

func readDynamic(root *steftest.Root, stream []byte) (recs []*dynamic.Struct, err error) {
	d, err := dynamic.NewReader(bytes.NewReader(stream), root.Schema, dynamic.WithAssumedSchema(root.Base),
		dynamic.WithMaxDictBytes(1<<20), dynamic.WithMaxRecordBytes(4<<20))
	if err != nil {
		return nil, err
	}
	for len(recs) < maxFuzzRecords && d.Next() {
		recs = append(recs, d.Record())
	}
	return recs, d.Err()
}

// agree requires both readers to reach the end of a stream, or both to return an error. Only one of them
// may return an error about a limit, because the readers count memory differently.
func agree(t *testing.T, generated, byDynamic error) {
	t.Helper()
	if generated != nil {
		requireTyped(t, generated)
	}
	if (generated == nil) == (byDynamic == nil) || errors.Is(generated, stef.ErrLimit) || errors.Is(byDynamic, dynamic.ErrLimit) {
		return
	}
	t.Fatalf("generated: %v; dynamic: %v", generated, byDynamic)
}

func FuzzMetricsReader(f *testing.F) { fuzzReader(f, metricsRoot(f), otelstef.PublishedMetrics()) }
func FuzzSpansReader(f *testing.F)   { fuzzReader(f, spansRoot(f), otelstef.PublishedSpans()) }
func FuzzLogsReader(f *testing.F)    { fuzzReader(f, logsRoot(f), nil) }

// FuzzWriteRead runs the randomized tests of package steftest with any seed. As a fuzz
// test, it saves the seed of a failure in the corpus.
func FuzzWriteRead(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed)
	}
	roots := []*steftest.Root{metricsRoot(f), spansRoot(f), logsRoot(f)}
	f.Fuzz(func(t *testing.T, seed uint64) {
		root := roots[seed%uint64(len(roots))]
		steftest.RoundTrip(t, root, seed)
		steftest.Evolve(t, root, seed)
		steftest.Mutate(t, root, seed)
		steftest.SelfContained(t, root, seed)
	})
}
