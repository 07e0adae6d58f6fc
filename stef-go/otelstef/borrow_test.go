// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// With NextBorrowing, texts stay in the memory of the frame, which the next frame overwrites.
// TestNextBorrowing reads bodies that do not change from one frame to the next. They must still be right.
func TestNextBorrowing(t *testing.T) {
	f := func(options ...stef.WriterOption) {
		t.Helper()
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out, options...)
		require.NoError(t, err)
		write := func(body string) {
			rec := w.Record().Record()
			rec.SetTime(rec.Time() + 1)
			if body == "" {
				rec.Body().SetType(otelstef.LogBodyTypeNone)
			} else {
				rec.Body().SetString(body)
			}
			require.NoError(t, w.Write())
		}
		for i := range 20 {
			text := strings.Repeat(string(rune('a'+i)), 100+i)
			write(text)
			write(text)
			require.NoError(t, w.Flush())
			write(text)
			require.NoError(t, w.Flush())
			write(text)
			write(text + "!")
			if i%5 == 0 {
				write("")
			}
			require.NoError(t, w.Flush())
		}
		require.NoError(t, w.Close())

		r, err := otelstef.NewLogsReader(bytes.NewReader(out.Bytes()))
		require.NoError(t, err)
		b, err := otelstef.NewLogsReader(bytes.NewReader(out.Bytes()))
		require.NoError(t, err)
		for range 2 {
			n := 0
			for ; r.Next(); n++ {
				require.True(t, b.NextBorrowing())
				require.True(t, r.Record().Equal(b.Record()), "record %d", n)
			}
			require.NoError(t, r.Err())
			require.False(t, b.NextBorrowing())
			require.NoError(t, b.Err())
			require.Equal(t, 20*5+4, n)
			require.True(t, r.Record().Equal(b.Record()), "at the end")
			require.NoError(t, r.Reset(bytes.NewReader(out.Bytes())))
			require.NoError(t, b.Reset(bytes.NewReader(out.Bytes())))
		}
	}
	f()
	f(stef.WithCompression(stef.Zstd))
}
