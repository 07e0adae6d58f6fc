// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

// maxHeap is the maximum growth of the heap in bytes while a hostile stream is read. It allows for the
// largest frame, a copy of this frame, and the memory of the largest record.
const maxHeap = 256 << 20

func TestMalformedVectors(t *testing.T) {
	for _, v := range teltest.Vectors(t, "malformed") {
		t.Run(v.Name, func(t *testing.T) {
			root, _ := published(t, v.Root)
			stream := v.Stream(t)
			peak := teltest.WatchHeap(t)
			began := time.Now()
			records, err := drain(root, stream)
			require.Less(t, time.Since(began), 10*time.Second)
			require.Less(t, peak(), uint64(maxHeap))
			switch v.Expect {
			case "error":
				require.Error(t, err)
			case "accept":
				require.NoError(t, err)
			default:
				require.Equal(t, "any", v.Expect)
			}
			if err != nil {
				requireTyped(t, err)
			}
			requireSameRecords(t, root, stream, records)
		})
	}
}

// TestFlippedBits flips one bit in every third byte of streams, and in every byte
// of their headers.
func TestFlippedBits(t *testing.T) {
	eachStream(t, 2, func(t *testing.T, root *steftest.Root, s stream) {
		for at := range s.bytes {
			if at > 60 && at%3 != 0 {
				continue
			}
			damaged := bytes.Clone(s.bytes)
			damaged[at] ^= 1 << (at * 5 % 8)
			readBothWays(t, root, damaged)
		}
	})
}

// drain reads a stream to its end or an error and returns the number of records.
func drain(root *steftest.Root, stream []byte, options ...stef.ReaderOption) (records uint64, err error) {
	r, err := root.NewReader(bytes.NewReader(stream), options...)
	if err != nil {
		return 0, err
	}
	for r.Next() {
	}
	return r.Stats().Records, r.Err()
}

// requireSameRecords checks that package dynamic decodes the same records from a malformed
// stream, until one of the readers fails. records is the number of records that the generated
// reader returned.
func requireSameRecords(t *testing.T, root *steftest.Root, stream []byte, records uint64) {
	t.Helper()
	r, err := root.NewReader(bytes.NewReader(stream))
	if err != nil {
		require.Zero(t, records)
		return
	}
	d, err := dynamic.NewReader(bytes.NewReader(stream), root.Schema, dynamic.WithAssumedSchema(root.Base))
	require.NoError(t, err)
	kept, err := schema.Keep(root.Schema, r.Schema())
	require.NoError(t, err)
	for r.Next() && r.Stats().Records <= 1000 {
		if !d.Next() {
			return
		}
		diff := steftest.Diff(root.Schema, d.Record(), steftest.Value(r.Record(), root.Schema, kept))
		require.Empty(t, diff, "record %d", r.Stats().Records)
	}
}

// requireTyped checks that err is a FormatError of a known kind.
func requireTyped(tb testing.TB, err error) {
	tb.Helper()
	var e *stef.FormatError
	require.ErrorAs(tb, err, &e)
	for _, kind := range []error{stef.ErrCorrupt, stef.ErrLimit, stef.ErrSchema, stef.ErrVersion, stef.ErrZstdDict} {
		if errors.Is(err, kind) {
			return
		}
	}
	require.Fail(tb, "no kind of error", "%v", err)
}
