// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"

	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// logsRoot returns the root of logs and its structs by name.
func logsRoot(t *testing.T) (*schema.Struct, schema.Kept, []*schema.Struct, map[string]*schema.Struct) {
	src, err := os.ReadFile(filepath.Join(teltest.Root(t), "stef-spec", "otel.stef"))
	require.NoError(t, err)
	parsed, err := idl.Parse("otel.stef", src)
	require.NoError(t, err)
	root := parsed.Root("Logs")
	full, err := schema.Keep(root, otelstef.LogsWireSchema())
	require.NoError(t, err)
	named := map[string]*schema.Struct{}
	var structs []*schema.Struct
	for s := range full {
		named[s.Name] = s
		structs = append(structs, s)
	}
	slices.SortFunc(structs, func(a, b *schema.Struct) int { return cmp.Compare(a.Name, b.Name) })
	return root, full, structs, named
}

// logsKeptOf reads wire schemas as package schema does, whatever is cut off.
func TestLogsKeptOf(t *testing.T) {
	root, full, structs, named := logsRoot(t)
	f := func(kept schema.Kept) {
		t.Helper()
		wire := kept.Wire(root)
		again, err := schema.Keep(root, wire)
		require.NoError(t, err)
		want := logsKept{
			entityRefs:    again[named["Resource"]] >= 4,
			observedDelta: again[named["LogRecord"]] >= 3,
			templates:     again[named["LogBody"]] >= 3 && again[named["BodyTemplate"]] >= 2,
		}
		require.Equal(t, want, logsKeptOf(wire), "%v", wire)
	}
	f(full)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		kept := schema.Kept{}
		for _, s := range structs {
			kept[s] = full[s]
			if r.IntN(4) == 0 {
				kept[s] = r.IntN(full[s] + 1)
			}
		}
		kept[root] = max(kept[root], 1)
		f(kept)
	}
	require.Equal(t, logsKept{true, true, true}, logsKeptOf(otelstef.LogsWireSchema()))
}

// In a schema without templates bodies go out as they are, and nothing is lost.
func TestLogsWithoutTemplates(t *testing.T) {
	root, full, _, named := logsRoot(t)
	full[named["LogBody"]] = 2
	ld := logsOf("a 1", "a 2", "a 3", "a 4", "a 5")
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, stef.WithSchema(full.Wire(root)), stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	require.NoError(t, NewLogsEncoder(w).Encode(ld))
	require.NoError(t, w.Close())
	require.Zero(t, templated(t, out.Bytes()))
	r, err := otelstef.NewLogsReader(&out)
	require.NoError(t, err)
	got, err := NewLogsDecoder(r).Decode()
	require.NoError(t, err)
	require.Empty(t, canon.DiffOrderedLogs(ld, got))
}
