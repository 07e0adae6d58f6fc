// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/steftest"
)

// fuzzCompact reads any bytes as a stream of the root. Errors must be of type *FormatError. If the records
// before an error are written in the compact form and read again, they must be unchanged.
func fuzzCompact(f *testing.F, c compactForm) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 11))
		f.Add(c.write(f, r, c.records(seed, 20), stef.WithCompression(stef.None)))
		f.Add(c.write(f, r, c.records(seed, 20), stef.WithCompression(stef.None), stef.WithFrameBytes(50), stef.WithDictBytes(300)))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		recs, err := c.readAll(stream)
		if err != nil {
			requireTyped(t, err)
		}
		if c.plain != nil {
			logRoot = c.Schema
			for _, rec := range recs {
				c.plain(rec)
			}
		}
		var out bytes.Buffer
		w, err := c.NewWriter(&out, c.option)
		require.NoError(t, err)
		written := recs[:0]
		for _, rec := range recs {
			steftest.Set(w.Record(), c.Schema, rec)
			err := w.Write()
			if errors.Is(err, stef.ErrLimit) {
				continue
			}
			require.NoError(t, err)
			written = append(written, rec)
		}
		require.NoError(t, w.Close())
		c.requireRead(t, &out, written, "again")
	})
}

// readAll returns the plain records of a stream that may be damaged.
func (c compactForm) readAll(stream []byte) (recs []*dynamic.Struct, err error) {
	r, err := c.NewReader(bytes.NewReader(stream), stef.WithLimits(small))
	if err != nil {
		return nil, err
	}
	for len(recs) < maxFuzzRecords && r.Next() {
		recs = append(recs, steftest.Value(r.Record(), c.Schema, nil))
	}
	return recs, r.Err()
}

func FuzzCompactMetrics(f *testing.F) { fuzzCompact(f, compactMetrics(f)) }
func FuzzCompactSpans(f *testing.F)   { fuzzCompact(f, compactSpans(f)) }
func FuzzCompactLogs(f *testing.F)    { fuzzCompact(f, compactLogs(f)) }
