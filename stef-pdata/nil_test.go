// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// Bad arguments of constructors and options panic immediately. The text of the panic names the
// mistake.
func TestBadArguments(t *testing.T) {
	w, err := otelstef.NewLogsWriter(new(bytes.Buffer))
	require.NoError(t, err)
	for want, all := range map[string][]func(){
		"stefpdata: the writer is nil": {
			func() { stefpdata.NewMetricsEncoder(nil) },
			func() { stefpdata.NewTracesEncoder(nil) },
			func() { stefpdata.NewLogsEncoder(nil) },
		},
		"stefpdata: the reader is nil": {
			func() { stefpdata.NewMetricsDecoder(nil) },
			func() { stefpdata.NewTracesDecoder(nil) },
			func() { stefpdata.NewLogsDecoder(nil) },
		},
		"stefotlp: the writer is nil": {
			func() { stefotlp.NewMetricsEncoder(nil) },
			func() { stefotlp.NewTracesEncoder(nil) },
			func() { stefotlp.NewLogsEncoder(nil) },
		},
		"stefotlp: the reader is nil": {
			func() { stefotlp.NewMetricsDecoder(nil) },
			func() { stefotlp.NewTracesDecoder(nil) },
			func() { stefotlp.NewLogsDecoder(nil) },
		},
		"stefpdata: an option is nil": {
			func() { stefpdata.NewLogsEncoder(w, nil) },
			func() { stefpdata.NewLogsDecoder(new(otelstef.LogsReader), nil) },
		},
		"stefotlp: an option is nil": {
			func() { stefotlp.NewLogsDecoder(new(otelstef.LogsReader), nil) },
		},
		"stefpdata: Mode(9) is neither Sorted nor Ordered": {
			func() { stefpdata.WithMode(9) },
		},
		"stefpdata: Templates(3) is none of TemplatesAuto, TemplatesOff and TemplatesOn": {
			func() { stefpdata.WithTemplates(3) },
		},
	} {
		for _, f := range all {
			require.PanicsWithValue(t, want, f)
		}
	}
	for templates, want := range map[stefpdata.Templates]string{stefpdata.TemplatesAuto: "auto", stefpdata.TemplatesOff: "off", stefpdata.TemplatesOn: "on", 3: "Templates(3)"} {
		require.Equal(t, want, templates.String())
	}
	for _, ok := range []stefpdata.EncoderOption{
		stefpdata.WithMode(stefpdata.Sorted), stefpdata.WithMode(stefpdata.Ordered),
		stefpdata.WithTemplates(stefpdata.TemplatesAuto), stefpdata.WithTemplates(stefpdata.TemplatesOn),
	} {
		require.NotNil(t, stefpdata.NewLogsEncoder(w, ok))
	}
}
