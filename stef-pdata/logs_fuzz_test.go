// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// FuzzOTLPLogs converts OTLP in both modes.
func FuzzOTLPLogs(f *testing.F) {
	for seed := range uint64(20) {
		data, err := (&plog.ProtoMarshaler{}).MarshalLogs(fewLogs(seed))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(data)
		if err != nil {
			return
		}
		text, err := (&plog.JSONMarshaler{}).MarshalLogs(ld)
		require.NoError(t, err)
		if byReference(text) {
			return
		}
		for _, mode := range modes {
			var out bytes.Buffer
			w, err := otelstef.NewLogsWriter(&out)
			require.NoError(t, err)
			err = stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode), stefpdata.WithTemplates(stefpdata.TemplatesOn)).Encode(ld)
			require.NoError(t, w.Close())
			if errors.Is(err, stef.ErrLimit) {
				continue
			}
			require.NoError(t, err)
			requireSameLogs(t, mode, []plog.Logs{ld}, decodeLogs(t, out.Bytes()))
		}
	})
}

// FuzzLogsStream converts streams to pdata and back.
func FuzzLogsStream(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(encodeLogs(f, []plog.Logs{fewLogs(seed)}, stefpdata.Ordered))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
		if err != nil {
			return
		}
		d := stefpdata.NewLogsDecoder(r, stefpdata.WithMaxItems(1000))
		for range 10 {
			ld, err := d.Decode()
			var bad stefpdata.RecordErrors
			if err != nil && !errors.As(err, &bad) {
				return
			}
			w, err := otelstef.NewLogsWriter(new(bytes.Buffer))
			require.NoError(t, err)
			var limits stefpdata.ItemErrors
			if err := stefpdata.NewLogsEncoder(w).Encode(ld); !errors.As(err, &limits) {
				require.NoError(t, err)
			}
		}
	})
}
