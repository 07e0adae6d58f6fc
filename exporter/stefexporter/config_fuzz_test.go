// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"

	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// FuzzConfig reads arbitrary text as a configuration. If Validate accepts the configuration, the
// session options that the exporter derives from it must be valid, too.
func FuzzConfig(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte("{endpoint: 'a:1', stef: {mode: sorted, num_stream: 3}}"))
	f.Add([]byte("{endpoint: 'a:1', compression: gzip, sending_queue: , metadata_keys: a}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		retrieved, err := confmap.NewRetrievedFromYAML(text)
		if err != nil {
			return
		}
		conf, err := retrieved.AsConf()
		if err != nil {
			return
		}
		c := createDefaultConfig().(*Config)
		if conf.Unmarshal(c) != nil || confmap.Validate(c) != nil {
			return
		}
		s := sessionConfig(c, defaultPauses().stream, stefgrpc.SessionEvents{})
		require.NoError(t, s.Validate())
		require.NoError(t, componenttest.CheckConfigStruct(c))
	})
}
