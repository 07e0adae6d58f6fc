// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/schema"
)

// drawTree writes one line per position: column, path, type, stream.
func drawTree(c *schema.Column, b *strings.Builder) {
	shared := ""
	if c.Shared != nil {
		shared = " = " + c.Shared.Path()
	}
	fmt.Fprintf(b, "%d %s: %s, %s%s\n", c.Index, c.Path(), c.Type, c.Stream, shared)
	for _, child := range c.Children {
		drawTree(child, b)
	}
}

func TestColumns(t *testing.T) {
	f := func(src string, wire schema.WireSchema, want string) {
		t.Helper()
		root := parse(t, "package a "+src).Roots()[0]
		var kept schema.Kept
		if wire != nil {
			var err error
			kept, err = schema.Keep(root, wire)
			require.NoError(t, err)
		}
		columns := schema.Columns(root, kept)
		for i, c := range columns {
			require.Equal(t, i, c.Index)
			require.Nil(t, c.Shared)
			if i > 0 {
				require.Contains(t, c.Parent.Children, c)
			}
		}
		var got strings.Builder
		drawTree(columns[0], &got)
		require.Equal(t, strings.TrimLeft(strings.ReplaceAll(want, "\t", ""), "\n"), got.String())
	}
	f("struct R root { B bool I int64 U uint64 F float64 optional S string dict(S) Y bytes E E } enum E {}", nil, `
		0 R: R, bits
		1 R.B: bool, bits
		2 R.I: int64, bytes
		3 R.U: uint64, bytes
		4 R.F: float64, bits
		5 R.S: string dict(S), bytes
		6 R.Y: bytes, bytes
		7 R.E: E, bytes
	`)
	// A type is recursive. Where it contains itself, the inner values use the columns of the outer
	// value.
	f(`struct Record root { Value JsonValue }
		oneof JsonValue { Object JsonObject Array []JsonValue String string Number float64 Bool bool }
		multimap JsonObject { key string value JsonValue }`, nil, `
		0 Record: Record, bits
		1 Record.Value: JsonValue, bits
		2 Record.Value.Object: JsonObject, bytes
		3 Record.Value.Object.key: string, bytes
		1 Record.Value.Object.value: JsonValue, bits = Record.Value
		4 Record.Value.Array: []JsonValue, bits
		1 Record.Value.Array[]: JsonValue, bits = Record.Value
		5 Record.Value.String: string, bytes
		6 Record.Value.Number: float64, bits
		7 Record.Value.Bool: bool, bits
	`)
	// An array shares the columns of an enclosing array with the same element type. A
	// multimap shares the columns of an enclosing multimap with the same name. Arrays
	// of primitives share no columns.
	f(`struct R root { A []S M M }
		struct S { Inner []S P []bool Q []bool } multimap M { key bool value []M }`, nil, `
		0 R: R, bits
		1 R.A: []S, bits
		2 R.A[]: S, bits
		1 R.A[].Inner: []S, bits = R.A
		3 R.A[].P: []bool, bits
		4 R.A[].P[]: bool, bits
		5 R.A[].Q: []bool, bits
		6 R.A[].Q[]: bool, bits
		7 R.M: M, bytes
		8 R.M.key: bool, bits
		9 R.M.value: []M, bits
		7 R.M.value[]: M, bytes = R.M
	`)
	// A type at two places has its columns twice. The root is part of the path.
	f("struct R root { A S B S } struct S { X bool R []R }", nil, `
		0 R: R, bits
		1 R.A: S, bits
		2 R.A.X: bool, bits
		3 R.A.R: []R, bits
		0 R.A.R[]: R, bits = R
		4 R.B: S, bits
		5 R.B.X: bool, bits
		6 R.B.R: []R, bits
		0 R.B.R[]: R, bits = R
	`)
	f("struct R root { A S B O C bool } struct S { X bool Y bool } oneof O { X bool Y []bool }",
		schema.WireSchema{2, 1, 0}, `
		0 R: R, bits
		1 R.A: S, bits
		2 R.A.X: bool, bits
		3 R.B: O, bits
	`)
}

func TestCountColumns(t *testing.T) {
	var src strings.Builder
	src.WriteString("package a struct R root { A S0 }")
	for i := range 8 {
		fmt.Fprintf(&src, "struct S%d { A S%d B S%d }", i, i+1, i+1)
	}
	src.WriteString("struct S8 { A bool }")
	root := parse(t, src.String()).Root("R")
	const all = 1 + 511 + 256
	require.Len(t, schema.Columns(root, nil), all)
	require.Equal(t, all, schema.CountColumns(root, nil, all+1))
	require.Equal(t, all, schema.CountColumns(root, nil, all))
	require.Equal(t, 100, schema.CountColumns(root, nil, 100))
}
