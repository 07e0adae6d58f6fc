// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/intern"
	"github.com/otelstef/stef/stef-pdata/internal/template"
)

func logsOf(bodies ...string) plog.Logs {
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, body := range bodies {
		lrs.AppendEmpty().Body().SetStr(body)
	}
	return ld
}

// templated counts the bodies that were written as templates.
func templated(t *testing.T, stream []byte) (n int) {
	t.Helper()
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(t, err)
	for r.Next() {
		if r.Record().Record().Body().Type() == otelstef.LogBodyTypeTemplate {
			n++
		}
	}
	require.NoError(t, r.Err())
	return n
}

// If templates are enabled, bodies whose templates recur are written as templates.
func TestWhenTemplatesAreUsed(t *testing.T) {
	returning, unique := make([]string, 600), make([]string, 600)
	accesses, short := make([]string, 600), make([]string, 600)
	for i := range returning {
		accesses[i] = fmt.Sprintf("10.1.%d.7 - - [%[1]d/Oct/2025:13:%[1]d] GET /images/%[1]d/photo-%[1]d.jpg 200 https://example.com/galleries/%[1]d/photographs-%[1]d.html", i)
		short[i] = fmt.Sprintf("%d %d %d", i, i*i, i*i*i)
		returning[i] = fmt.Sprintf("request %d took %d ms", i, i*i)
		unique[i] = strings.Repeat("x", i) + fmt.Sprintf(" took %d ms", i)
	}
	f := func(want int, compression stef.Compression, bodies []string, options ...EncoderOption) {
		t.Helper()
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out, stef.WithCompression(compression))
		require.NoError(t, err)
		e := NewLogsEncoder(w, options...)
		require.NoError(t, e.Encode(logsOf(bodies...)))
		require.NoError(t, w.Close())
		require.Equal(t, want, templated(t, out.Bytes()))
	}
	f(600, stef.Zstd, returning)
	f(600, stef.Zstd, returning, WithMode(Sorted))
	f(600, stef.None, returning, WithTemplates(TemplatesOn))
	f(0, stef.None, returning)
	f(0, stef.Zstd, returning, WithTemplates(TemplatesOff))
	f(0, stef.Zstd, unique)
	f(600, stef.Zstd, accesses)
	f(600, stef.Zstd, short)
	f(0, stef.None, unique, WithTemplates(TemplatesOn))
	f(0, stef.Zstd, []string{"a\x001", strings.Repeat("1 ", stef.MaxPairs+1), strings.Repeat("x", template.MaxTemplate+1)})
}

// The number of scopes in the memory of an encoder is bounded. After the encoder has dropped them, log
// records are still written correctly.
func TestContainersOfLogsAreBounded(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out)
	require.NoError(t, err)
	e := NewLogsEncoder(w)
	n := int64(0)
	for range intern.MaxContainers/500 + 3 {
		ld := plog.NewLogs()
		scopes := ld.ResourceLogs().AppendEmpty().ScopeLogs()
		for range 500 {
			n++
			sl := scopes.AppendEmpty()
			sl.Scope().Attributes().PutInt("n", n)
			sl.LogRecords().AppendEmpty().Body().SetInt(n)
		}
		require.NoError(t, e.Encode(ld))
		require.LessOrEqual(t, e.scopes.Size(), intern.MaxContainers+500)
	}
	require.NoError(t, w.Close())
	r, err := otelstef.NewLogsReader(&out)
	require.NoError(t, err)
	read := int64(0)
	for r.Next() {
		read++
		require.Equal(t, read, r.Record().Record().Body().Value().Int64())
		require.Equal(t, read, r.Record().Scope().Attributes().Value(0).Int64())
	}
	require.NoError(t, r.Err())
	require.Equal(t, n, read)
}

// An encoder keeps no references to a batch: the batch may change, and references would keep it
// in memory.
func TestSorterForgets(t *testing.T) {
	w, err := otelstef.NewLogsWriter(new(bytes.Buffer), stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	e := NewLogsEncoder(w, WithMode(Sorted))
	require.NoError(t, e.Encode(logsOf("a 1", "a 2", "a 3")))
	require.NotZero(t, cap(e.sorter.items))
	for _, x := range e.sorter.items[:cap(e.sorter.items)] {
		require.Equal(t, logItem{}, x)
	}
	for _, l := range e.sorter.lists[:cap(e.sorter.lists)] {
		require.Equal(t, logList{}, l)
	}
}
