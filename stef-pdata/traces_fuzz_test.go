// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// FuzzOTLPTraces converts OTLP in both modes.
func FuzzOTLPTraces(f *testing.F) {
	for seed := range uint64(20) {
		data, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(newRandom(seed).traces())
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(data)
		if err != nil {
			return
		}
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
		require.NoError(t, err)
		if byReference(text) {
			return
		}
		for _, mode := range modes {
			var out bytes.Buffer
			w, err := otelstef.NewSpansWriter(&out)
			require.NoError(t, err)
			err = stefpdata.NewTracesEncoder(w, stefpdata.WithMode(mode)).Encode(td)
			require.NoError(t, w.Close())
			if errors.Is(err, stef.ErrLimit) {
				continue
			}
			require.NoError(t, err)
			requireSameTraces(t, mode, []ptrace.Traces{td}, decodeTraces(t, out.Bytes()))
		}
	})
}

// FuzzTracesStream converts streams to pdata and back.
func FuzzTracesStream(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(encodeTraces(f, []ptrace.Traces{newRandom(seed).traces()}, stefpdata.Ordered))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		r, err := otelstef.NewSpansReader(bytes.NewReader(stream))
		if err != nil {
			return
		}
		d := stefpdata.NewTracesDecoder(r, stefpdata.WithMaxItems(1000))
		for range 10 {
			td, err := d.Decode()
			var bad stefpdata.RecordErrors
			if err != nil && !errors.As(err, &bad) {
				return
			}
			w, err := otelstef.NewSpansWriter(new(bytes.Buffer))
			require.NoError(t, err)
			var limits stefpdata.ItemErrors
			if err := stefpdata.NewTracesEncoder(w).Encode(td); !errors.As(err, &limits) {
				require.NoError(t, err)
			}
		}
	})
}
