// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// compactLogsWith returns an option for the compact form. In its schema, the oneof with this name
// has only the given number of choices.
func compactLogsWith(t *testing.T, name string, choices int) stef.WriterOption {
	root := otelstef.LogsCompactRoot()
	kept, err := schema.Keep(root, schema.WireOf(root))
	require.NoError(t, err)
	for s := range kept {
		if s.Name == name {
			kept[s] = choices
		}
	}
	return stef.WithSchema(kept.Wire(root))
}

// If a text repeats another value of the record, it is written as a reference to this value. If the
// schema of the stream lacks this value, the text is written without a reference, because the
// reader could not resolve the reference.
func TestNoReferencesToMissingChoices(t *testing.T) {
	pass := func(ld plog.Logs, option stef.WriterOption) plog.LogRecordSlice {
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out, option)
		require.NoError(t, err)
		_ = stefpdata.NewLogsEncoder(w, stefpdata.WithTemplates(stefpdata.TemplatesOn)).Encode(ld)
		require.NoError(t, w.Close())
		r, err := otelstef.NewLogsReader(&out)
		require.NoError(t, err)
		got, err := stefpdata.NewLogsDecoder(r).Decode()
		require.NoError(t, err)
		return got.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	}
	r := newRandom(7)
	ld := r.repeating(600, 2)
	lrs := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	for choices := range 8 {
		got := pass(ld, compactLogsWith(t, "AnyValue", choices))
		require.Equal(t, lrs.Len(), got.Len())
		for i := range lrs.Len() {
			require.Equal(t, lrs.At(i).Body().AsString(), got.At(i).Body().AsString(), "%d choices, record %d", choices, i)
		}
	}

	ld = plog.NewLogs()
	lrs = ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i := range 600 {
		lr := lrs.AppendEmpty()
		text := fmt.Sprintf("a text of the body %d", i)
		lr.Body().SetEmptyMap().PutStr("text", text)
		lr.Attributes().PutStr("text", text)
	}
	for choices := range 8 {
		got := pass(ld, compactLogsWith(t, "BodyValue", choices))
		require.Equal(t, lrs.Len(), got.Len())
		for i := range lrs.Len() {
			want, _ := lrs.At(i).Attributes().Get("text")
			have, _ := got.At(i).Attributes().Get("text")
			require.Equal(t, want.AsString(), have.AsString(), "%d choices, record %d", choices, i)
		}
	}
}
