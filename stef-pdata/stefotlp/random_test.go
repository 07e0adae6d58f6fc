// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	"github.com/otelstef/stef/internal/teltest"
)

// For any OTLP content in any protobuf encoding, stefotlp and stefpdata write the same records, and
// read the same content from these records.
func TestRandomMessages(t *testing.T) {
	rounds := uint64(400)
	if testing.Short() {
		rounds = 50
	}
	for _, s := range signals {
		t.Run(s.name, func(t *testing.T) {
			for seed := range rounds {
				b := stefotlp.RandomMessage(rand.New(rand.NewPCG(seed, 1)), s.name)
				require.NoError(t, s.unmarshal(b), "seed %d", seed)
				for _, options := range [][]stef.WriterOption{nil, {s.published}, {stef.WithFrameBytes(500)}} {
					want, err := s.encodePdata(t, b, options...)
					require.NoError(t, err, "seed %d", seed)
					got, err := s.encode(t, b, options...)
					require.NoError(t, err, "seed %d", seed)
					s.records(t, want, got)
					s.decoded(t, got)
					s.decoded(t, want)
				}
			}
		})
	}
}

// TestVectors compares the decoders of stefotlp and stefpdata. It uses the reference vectors
// "edge" of metrics and spans, which include content that OTLP cannot express.
func TestVectors(t *testing.T) {
	f := func(pattern string, s signal) {
		paths, err := filepath.Glob(filepath.Join(teltest.Golden(t, "edge"), pattern))
		require.NoError(t, err)
		require.Greater(t, len(paths), 8)
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) {
				stream, err := os.ReadFile(path)
				require.NoError(t, err)
				if filepath.Base(path) == "m_userdata_long.stef" { // user data that is too long
					return
				}
				s.decoded(t, stream)
			})
		}
	}
	f("m_*.stef", signals[0])
	f("s_*.stef", signals[1])
}
