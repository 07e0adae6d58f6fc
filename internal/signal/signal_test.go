// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/streamconf"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// TestDescriptors sends a recording of each signal through its descriptor.
func TestDescriptors(t *testing.T) {
	testDescriptor(t, Traces, fixtures.Traces())
	testDescriptor(t, Metrics, fixtures.Metrics())
	testDescriptor(t, Logs, fixtures.Logs())
}

func testDescriptor[T any](t *testing.T, d *Descriptor[T], file []byte) {
	t.Run(d.Name, func(t *testing.T) {
		parts, err := fixtures.Parts(file)
		require.NoError(t, err)
		before, err := d.Unmarshal(parts[0])
		require.NoError(t, err)
		body, err := d.Marshal(before)
		require.NoError(t, err)
		require.Equal(t, d.Size(before), len(body))
		require.Equal(t, d.Items(before), d.OTLP.Count(body))

		var stream bytes.Buffer
		mode := []stefpdata.EncoderOption{stefpdata.WithMode(stefpdata.Ordered)}
		e, err := d.NewEncoder(&stream, mode)
		require.NoError(t, err)
		require.NoError(t, e.Encode(before))
		require.NoError(t, e.Writer.Close())
		require.Zero(t, e.Losses().Total())
		require.EqualValues(t, d.Items(before), e.Writer.Stats().Flushed)

		r, err := d.NewDecoder(&stream, nil)
		require.NoError(t, err)
		defer r.Reader.Close()
		after, err := r.Decode()
		require.NoError(t, err)
		require.Equal(t, d.Items(before), d.Items(after))
		_, err = r.Decode()
		require.Equal(t, io.EOF, err)

		if d.Published != nil {
			e, err := d.NewEncoder(&stream, mode, d.Published())
			require.NoError(t, err)
			require.NoError(t, e.Encode(before))
		}
	})
}

func TestAutoLevel(t *testing.T) {
	require.Equal(t, stef.LevelFastest, Traces.AutoLevel(schema.WireOf(Traces.Compact())))
	require.Equal(t, stef.LevelDefault, Traces.AutoLevel(schema.WireOf(Traces.Root())))
	require.Equal(t, stef.LevelDefault, Traces.AutoLevel(schema.WireOf(Traces.RootIn(streamconf.Reference))))
	require.Equal(t, stef.LevelAuto, Metrics.AutoLevel(schema.WireOf(Metrics.Compact())))
	require.Equal(t, stef.LevelFastest, Logs.AutoLevel(schema.WireOf(Logs.Compact())))
}

func TestNames(t *testing.T) {
	require.Equal(t, []string{"traces", "metrics", "logs"}, []string{Traces.Name, Metrics.Name, Logs.Name})
	require.Equal(t, "Spans", Traces.Root().Name)
	require.Equal(t, "Metrics", Metrics.Root().Name)
	require.Equal(t, "Logs", Logs.Root().Name)
	require.Nil(t, Logs.Published, "logs have no published schema")
}
