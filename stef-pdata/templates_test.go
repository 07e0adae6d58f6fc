// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// The decoders of stefpdata and stefotlp omit a record if its template has more or fewer placeholders
// than the record has parameters. They do not count the placeholders of a large template again for
// each record, even if templates alternate. Otherwise 4,000 records in a stream of 2 KB would take
// 10 s.
func TestTemplatesThatDoNotSuit(t *testing.T) {
	const size = 4 << 20
	templates := []string{
		"a\x00b", "a\x00c", "\x00ab", "", "abc",
		strings.Repeat("\x00", stef.MaxPairs+1), strings.Repeat("x", size) + "\x00\x00", strings.Repeat("x", size) + strings.Repeat("\x00", stef.MaxPairs+1),
	}
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	r := newRandom(3)
	var wantTexts []string
	var wantBad []uint64
	for n := uint64(1); n <= 5000; n++ {
		body := w.Record().Record().Body().SetTemplate()
		if r.one(100) || n == 1 {
			body.SetTemplate(pick(r, templates...))
		}
		if r.one(50) {
			body.Params().SetLen(0)
			body.Params().Append(false, "parameter")
		}
		if text := body.Template(); strings.Count(text, "\x00") == body.Params().Len() {
			wantTexts = append(wantTexts, strings.Replace(text, "\x00", "parameter", 1))
		} else {
			wantBad = append(wantBad, n)
		}
		w.Record().Record().SetTime(n)
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	require.NotEmpty(t, wantTexts)

	f := func(name string, next func() (plog.Logs, error)) {
		t.Run(name, func(t *testing.T) {
			var texts []string
			var bad []uint64
			for {
				ld, err := next()
				for _, rl := range ld.ResourceLogs().All() {
					for _, sl := range rl.ScopeLogs().All() {
						for _, lr := range sl.LogRecords().All() {
							texts = append(texts, lr.Body().Str())
						}
					}
				}
				if errors.Is(err, io.EOF) {
					break
				}
				var some stefpdata.RecordErrors
				if !errors.As(err, &some) {
					require.NoError(t, err)
				}
				for _, x := range some {
					for i := x.First; i <= x.Last; i++ {
						bad = append(bad, i)
					}
				}
			}
			require.Equal(t, wantBad, bad)
			require.Equal(t, wantTexts, texts)
		})
	}
	reader := func() *otelstef.LogsReader {
		r, err := otelstef.NewLogsReader(bytes.NewReader(out.Bytes()))
		require.NoError(t, err)
		return r
	}
	f("pdata", stefpdata.NewLogsDecoder(reader()).Decode)
	d := stefotlp.NewLogsDecoder(reader())
	f("OTLP", func() (plog.Logs, error) {
		b, err := d.AppendOTLP(nil)
		ld, unmarshalErr := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(b)
		require.NoError(t, unmarshalErr)
		return ld, err
	})
}
