// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// streamOf returns a stream of records whose shared values change often. All streams have
// some equal values.
func streamOf(t *testing.T, stream, records int, options []stef.WriterOption) *bytes.Buffer {
	t.Helper()
	b := new(bytes.Buffer)
	w, err := otelstef.NewMetricsWriter(b, options...)
	require.NoError(t, err)
	for i := range records {
		rec := w.Record()
		resource := rec.EditResource().Attributes()
		resource.Reset()
		resource.AppendString("service.name", "service "+strconv.Itoa(i%3))
		resource.AppendKVList("of stream").AppendInt64("number", int64(stream*(i%2)))
		resource.AppendArray("list").SetLen(i % 4)
		rec.EditResource().EntityRefs().SetLen(i % 2)
		rec.EditScope().SetName("scope " + strconv.Itoa(i%5))
		rec.EditMetric().SetName("metric " + strconv.Itoa(i%7))
		rec.Point().SetTimestamp(uint64(i))
		require.NoError(t, w.Write())
		if i%4 == 3 {
			require.NoError(t, w.Flush())
		}
	}
	require.NoError(t, w.Close())
	return b
}

// TestRecordsOfManyReaders reads streams in several goroutines, as the handlers of a server do, and copies
// all records to one Writer. Before a goroutine copies its record, it writes the current record of the
// Writer again, whose shared values another goroutine has set. At the same time, all other goroutines use
// the records of their readers. The race detector fails the test if goroutines share values unsafely.
func TestRecordsOfManyReaders(t *testing.T) {
	const streams, records = 4, 200
	for name, options := range map[string][]stef.WriterOption{
		"full": nil, "compact": {otelstef.CompactMetrics(), stef.WithCompression(stef.Zstd)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out, err := New(Options{Dir: dir, Signal: "metrics", MaxBytes: 2 << 10, Sync: SyncNone},
				func(dst io.Writer) (*otelstef.MetricsWriter, error) {
					return otelstef.NewMetricsWriter(dst, options...)
				})
			require.NoError(t, err)
			want := map[string]int{} // needs no lock, because Write calls one function at a time
			put := func(w *otelstef.MetricsWriter) error {
				want[printed(w.Record())]++
				return w.Write()
			}
			var readers sync.WaitGroup
			for stream := range streams {
				r, err := otelstef.NewMetricsReader(streamOf(t, stream, records, options))
				require.NoError(t, err)
				readers.Go(func() {
					defer r.Close()
					own := otelstef.NewMetrics()
					for r.Next() {
						err := out.Write(func(w *otelstef.MetricsWriter) error {
							w.Record().Point().SetTimestamp(0) // another goroutine has probably set the other fields
							if err := put(w); err != nil {
								return err
							}
							w.Record().CopyFrom(r.Record())
							return put(w)
						})
						if err != nil {
							t.Error(err)
						}
						own.CopyFrom(r.Record())
						if !own.Equal(r.Record()) {
							t.Error("the copy differs")
						}
						own.EditResource().SetSchemaURL(printed(r.Record()))
					}
					if err := r.Err(); err != nil {
						t.Error(err)
					}
				})
			}
			readers.Wait()
			require.NoError(t, out.Close())
			require.Greater(t, out.Stats().Opened, uint64(streams))

			got := map[string]int{}
			for _, name := range names(t, dir) {
				b, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err)
				r, err := otelstef.NewMetricsReader(bytes.NewReader(b))
				require.NoError(t, err)
				for r.Next() {
					got[printed(r.Record())]++
				}
				require.NoError(t, r.Err())
			}
			require.Equal(t, want, got)
		})
	}
}

// printed returns the content of a record without the fields that a compact writer sets.
func printed(rec *otelstef.Metrics) string {
	return fmt.Sprint(rec.Resource(), rec.Scope(), rec.Metric(), rec.Attributes(), rec.Point().Timestamp())
}
