// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// The package comment lists all fields that belong to the compact form.
func TestCompactFieldsInComment(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	want := map[string]bool{}
	f := func(plain *schema.Struct, plainWire schema.WireSchema, compact *schema.Struct, wire schema.WireSchema) {
		t.Helper()
		fields := map[string]int{}
		kept, err := schema.Keep(plain, plainWire)
		require.NoError(t, err)
		for s, n := range kept {
			fields[s.Name] = n
		}
		kept, err = schema.Keep(compact, wire)
		require.NoError(t, err)
		for s := range kept {
			before, ok := fields[s.Name]
			if !ok || before == len(s.Fields) {
				continue
			}
			var names []string
			for _, f := range s.Fields[before:] {
				names = append(names, f.Name)
			}
			want[fmt.Sprintf("//   - %s: %s\n", s.Name, strings.Join(names, ", "))] = true
		}
	}
	f(otelstef.MetricsRoot(), otelstef.MetricsSchema(), otelstef.MetricsCompactRoot(), otelstef.MetricsCompactSchema())
	f(otelstef.SpansRoot(), otelstef.SpansSchema(), otelstef.SpansCompactRoot(), otelstef.SpansCompactSchema())
	f(otelstef.LogsRoot(), otelstef.LogsSchema(), otelstef.LogsCompactRoot(), otelstef.LogsCompactSchema())
	require.Len(t, want, 5)
	for line := range want {
		require.Contains(t, string(text), line)
	}
}
