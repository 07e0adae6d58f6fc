// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// FuzzOTLPMetrics converts OTLP in both modes.
func FuzzOTLPMetrics(f *testing.F) {
	for seed := range uint64(20) {
		data, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(newRandom(seed).metrics())
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(data)
		if err != nil {
			return
		}
		text, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(md)
		require.NoError(t, err)
		if byReference(text) {
			return
		}
		for _, mode := range modes {
			var out bytes.Buffer
			w, err := otelstef.NewMetricsWriter(&out)
			require.NoError(t, err)
			err = stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode)).Encode(md)
			require.NoError(t, w.Close())
			if errors.Is(err, stef.ErrLimit) {
				continue
			}
			require.NoError(t, err)
			requireSame(t, mode, []pmetric.Metrics{md}, decodeMetrics(t, out.Bytes()))
		}
	})
}

// FuzzMetricsStream converts streams to pdata and back.
func FuzzMetricsStream(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(encodeMetrics(f, []pmetric.Metrics{newRandom(seed).metrics()}, stefpdata.Ordered))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
		if err != nil {
			return
		}
		d := stefpdata.NewMetricsDecoder(r, stefpdata.WithMaxItems(1000))
		for range 10 {
			md, err := d.Decode()
			var bad stefpdata.RecordErrors
			if err != nil && !errors.As(err, &bad) {
				return
			}
			w, err := otelstef.NewMetricsWriter(new(bytes.Buffer))
			require.NoError(t, err)
			var limits stefpdata.ItemErrors
			if err := stefpdata.NewMetricsEncoder(w).Encode(md); !errors.As(err, &limits) {
				require.NoError(t, err)
			}
		}
	})
}
