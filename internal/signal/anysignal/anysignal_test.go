// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package anysignal

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
)

// TestForwardsEveryField: a descriptor of this package has every field that the descriptor
// of package signal has, and so have its encoders and decoders.
func TestForwardsEveryField(t *testing.T) {
	forwards(t, otlpfile.Metrics, signal.Metrics)
	forwards(t, otlpfile.Traces, signal.Traces)
	forwards(t, otlpfile.Logs, signal.Logs)
}

func forwards[T any](t *testing.T, s otlpfile.Signal, from *signal.Descriptor[T]) {
	t.Helper()
	got := Of(s)
	require.Empty(t, missing(from.Name, reflect.ValueOf(*from), reflect.ValueOf(*got)))

	var plain, stream bytes.Buffer
	fromEncoder, err := from.NewEncoder(&plain, nil)
	require.NoError(t, err)
	gotEncoder, err := got.NewEncoder(&stream, nil)
	require.NoError(t, err)
	require.Empty(t, missing(from.Name+" encoder", reflect.ValueOf(*fromEncoder), reflect.ValueOf(*gotEncoder)))
	require.NoError(t, fromEncoder.Writer.Close())
	require.NoError(t, gotEncoder.Writer.Close())

	fromDecoder, err := from.NewDecoder(&plain, nil)
	require.NoError(t, err)
	gotDecoder, err := got.NewDecoder(&stream, nil)
	require.NoError(t, err)
	require.Empty(t, missing(from.Name+" decoder", reflect.ValueOf(*fromDecoder), reflect.ValueOf(*gotDecoder)))
	fromDecoder.Reader.Close()
	gotDecoder.Reader.Close()
}

// missing returns the fields that are zero in got and not in from. Structs are compared by
// their fields.
func missing(name string, from, got reflect.Value) (fields []string) {
	if from.Kind() != reflect.Struct {
		if got.IsZero() && !from.IsZero() {
			return []string{name}
		}
		return nil
	}
	for i := range from.NumField() {
		field := from.Type().Field(i).Name
		fields = append(fields, missing(name+"."+field, from.Field(i), got.FieldByName(field))...)
	}
	return fields
}
