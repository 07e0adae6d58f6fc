// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Writer and reader keep habits for each span name. A writer looks the habits up by the text of the
// name, and a reader by the address of the name. Equal names can have different addresses. Writer
// and reader must find the same habits, even if names evict each other from their caches.
func TestHabitsOfNames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var writer, reader Spans
	writer.Own = true
	var fields SpanFields
	var names []string
	for i := range 600 {
		names = append(names, fmt.Sprintf("GET /items/%03d/and more", i))
	}
	var got Span
	last := ""
	for i := range 20_000 {
		name := names[random.IntN(len(names))]
		if random.IntN(3) == 0 {
			name = strings.Clone(name)
		}
		want := Span{High: random.Uint64N(3), ID: uint64(i), HasParent: random.IntN(2) == 0, Name: name,
			Start: random.Uint64N(1e6), End: 2e6}
		if want.HasParent {
			want.Parent = random.Uint64N(uint64(i + 1))
		}
		writer.Put(&want, &fields)
		got.SameName, got.Name, got.Times = name == last, name, got.Times[:0]
		last = name
		require.True(t, reader.Take(&fields, &got))
		require.Equal(t, [5]uint64{want.High, want.Low, want.ID, want.Start, want.End},
			[5]uint64{got.High, got.Low, got.ID, got.Start, got.End}, "span %d", i)
		require.Equal(t, want.HasParent, got.HasParent)
		if want.HasParent {
			require.Equal(t, want.Parent, got.Parent)
		}
	}
	require.Len(t, reader.names, len(names))
}
