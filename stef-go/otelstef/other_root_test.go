// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// If a program opens a stream with the reader of another root, and the stream announces its schema, the
// error names the root that the stream seems to have. If it announces none, the error says that the stream
// may have another root.
func TestOtherRoot(t *testing.T) {
	type writer interface{ Close() error }
	type kind struct {
		name    string
		write   func(out io.Writer, options ...stef.WriterOption) (writer, error)
		read    func(b []byte) error
		options []stef.WriterOption // options that select a schema other than the default
	}
	header := stef.WithSchemaHeader()
	kinds := []kind{
		{"Metrics", func(out io.Writer, options ...stef.WriterOption) (writer, error) {
			return otelstef.NewMetricsWriter(out, options...)
		}, func(b []byte) error {
			_, err := otelstef.NewMetricsReader(bytes.NewReader(b))
			return err
		}, []stef.WriterOption{header, otelstef.CompactMetrics()}},
		{"Spans", func(out io.Writer, options ...stef.WriterOption) (writer, error) {
			return otelstef.NewSpansWriter(out, options...)
		}, func(b []byte) error {
			_, err := otelstef.NewSpansReader(bytes.NewReader(b))
			return err
		}, []stef.WriterOption{header, otelstef.CompactSpans()}},
		{"Logs", func(out io.Writer, options ...stef.WriterOption) (writer, error) {
			return otelstef.NewLogsWriter(out, options...)
		}, func(b []byte) error {
			_, err := otelstef.NewLogsReader(bytes.NewReader(b))
			return err
		}, []stef.WriterOption{header, otelstef.CompactLogs()}},
	}
	for _, from := range kinds {
		for _, option := range from.options {
			var out bytes.Buffer
			w, err := from.write(&out, option)
			require.NoError(t, err)
			require.NoError(t, w.Close())
			for _, to := range kinds {
				err := to.read(out.Bytes())
				if to.name == from.name {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, stef.ErrSchema)
				require.NotContains(t, err.Error(), "fields for", "the count may be that of another struct")
				require.ErrorContains(t, err, "incompatible schema: the records seem to be those of "+from.name+", not of "+to.name+": use "+from.name+"Reader. If they are those of "+to.name+", the stream is newer than the reader")
			}
		}
	}

	var out bytes.Buffer // streams of logs announce no schema by default
	w, err := otelstef.NewLogsWriter(&out)
	require.NoError(t, err)
	w.Record().Record().Body().SetString("text")
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	r, err := otelstef.NewMetricsReader(&out)
	require.NoError(t, err)
	require.False(t, r.Next())
	require.ErrorContains(t, r.Err(), "of Metrics. If its records are those of another root, use the reader of that root")
}

// If no root of the package has the schema of a stream, the error says that the stream is newer
// than the reader or has another root.
func TestNewerSchema(t *testing.T) {
	_, err := otelstef.NewMetricsReader(strings.NewReader("STEF\x02\x00\x00\x00\x04\x02\x01\x3f\x00"))
	require.ErrorIs(t, err, stef.ErrSchema)
	require.ErrorContains(t, err, "the stream is newer than the reader, or its records are not those of Metrics")
	// A type that the reader does not have.
	header := []byte{byte(len(otelstef.MetricsSchema()) + 1)}
	for _, n := range append(otelstef.MetricsSchema(), 1) {
		header = append(header, byte(n))
	}
	header = slices.Concat([]byte{byte(len(header) + 2), byte(len(header))}, header, []byte{0})
	_, err = otelstef.NewMetricsReader(io.MultiReader(strings.NewReader("STEF\x02\x00\x00\x00"), bytes.NewReader(header)))
	require.ErrorIs(t, err, stef.ErrSchema)
	require.ErrorContains(t, err, "the wire schema has more structs and oneofs than the records have in this code: the stream is newer than the reader, or its records are not those of Metrics")
}

// stef.WithSchema(nil) does not change the default schema, which omits the fields of the compact form.
func TestNilSchema(t *testing.T) {
	w, err := otelstef.NewLogsWriter(io.Discard, stef.WithSchema(nil))
	require.NoError(t, err)
	require.Equal(t, otelstef.LogsSchema(), w.Schema())
}

// If the schema option of a writer does not fit its root, the error says that it may be the schema of
// another root.
func TestWriterOfOtherRoot(t *testing.T) {
	_, err := otelstef.NewLogsWriter(io.Discard, stef.WithSchema(otelstef.MetricsSchema()))
	require.ErrorIs(t, err, stef.ErrSchema)
	require.EqualError(t, err, "stef: LogsWriter cannot write the schema of its options: incompatible schema: "+
		"the schema seems to be that of Metrics, not of Logs, or newer than this code")
	_, err = otelstef.NewMetricsWriter(io.Discard, otelstef.CompactSpans())
	require.ErrorContains(t, err, "the schema seems to be that of Spans, not of Metrics")
	_, err = otelstef.NewMetricsWriter(io.Discard, stef.WithSchema([]int{99}))
	require.ErrorIs(t, err, stef.ErrSchema)
	require.ErrorContains(t, err, "the schema does not belong to Metrics, or it is newer than this code: incompatible schema: the wire schema has 99 fields for Metrics")
}
