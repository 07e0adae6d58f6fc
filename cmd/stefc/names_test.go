// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunSortsWarnings: warnings of all checks are in the order of the lines.
func TestRunSortsWarnings(t *testing.T) {
	const text = "package a\nstruct R root {\n  order_id uint64\n  String string\n  UserIDs uint64\n  line_no uint64\n  ItemIDs uint64\n}\n"
	_, code, stderr := stefc(t, text, "shop.stef")
	require.Equal(t, 0, code, stderr)
	var lines []string
	for _, m := range regexp.MustCompile(`(?m)^shop\.stef:(\d+):`).FindAllStringSubmatch(stderr, -1) {
		lines = append(lines, m[1])
	}
	require.Equal(t, []string{"3", "4", "5", "6", "7"}, lines)
}

// TestRunWarnsOfOtherCase: names in snake case and in capitals become parts of Go names. Names with
// up to four capitals, such as SHA256, may be acronyms.
func TestRunWarnsOfOtherCase(t *testing.T) {
	const text = `package a
struct R root {
  order_id uint64
  status Status
  Kind Kind
  METHOD Method
  SHA256 HTTP2
}
enum Status { PLACED = 0 PAID = 1 SHIPPED = 2 }
enum Kind { kind_a = 0 kind_b = 1 }
enum Method { GET = 0 Post = 1 }
enum HTTP2 { HTTP2 = 0 UTF8TEXT = 1 }
`
	_, code, stderr := stefc(t, text, "shop.stef")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, `shop.stef:3:3: warning: field order_id has the setter SetOrder_id in Go; names are in MixedCaps, write OrderID
   3 |   order_id uint64
     |   ^~~~~~~~
shop.stef:6:3: warning: field METHOD has the setter SetMETHOD in Go; names are in MixedCaps, write Method
   6 |   METHOD Method
     |   ^~~~~~
shop.stef:9:15: warning: value PLACED of enum Status is the constant StatusPLACED in Go; names are in MixedCaps, write Placed
   9 | enum Status { PLACED = 0 PAID = 1 SHIPPED = 2 }
     |               ^~~~~~
shop.stef:9:35: warning: value SHIPPED of enum Status is the constant StatusSHIPPED in Go; names are in MixedCaps, write Shipped
   9 | enum Status { PLACED = 0 PAID = 1 SHIPPED = 2 }
     |                                   ^~~~~~~
shop.stef:10:13: warning: value kind_a of enum Kind is the constant KindKind_a in Go; names are in MixedCaps, write KindA
  10 | enum Kind { kind_a = 0 kind_b = 1 }
     |             ^~~~~~
shop.stef:10:24: warning: value kind_b of enum Kind is the constant KindKind_b in Go; names are in MixedCaps, write KindB
  10 | enum Kind { kind_a = 0 kind_b = 1 }
     |                        ^~~~~~
shop.stef:12:24: warning: value UTF8TEXT of enum HTTP2 is the constant HTTP2UTF8TEXT in Go; names are in MixedCaps, write Utf8text
  12 | enum HTTP2 { HTTP2 = 0 UTF8TEXT = 1 }
     |                        ^~~~~~~~
`, stderr)
	code, stderr = again("-ignore", "MixedCaps", "shop.stef")
	require.Equal(t, 0, code)
	require.Empty(t, stderr)
	r, err := os.ReadFile("r.stef.go")
	require.NoError(t, err)
	require.Contains(t, string(r), ") SetOrder_id(")
	status, err := os.ReadFile("status.stef.go")
	require.NoError(t, err)
	require.Contains(t, string(status), "StatusPLACED")

	// If another field or value has the suggested name, the warning says that it is taken.
	const taken = "package a\nstruct R root {\n  UserID bool\n  user_id_ bool\n  S S\n}\nenum S { READY = 0 Ready = 1 }\n"
	_, _, stderr = stefc(t, taken, "-check", "shop.stef")
	require.Contains(t, stderr, "field user_id_ has the setter SetUser_id_ in Go; names are in MixedCaps, UserID is taken\n")
	require.Contains(t, stderr, "value READY of enum S is the constant SREADY in Go; names are in MixedCaps, Ready is taken\n")

	_, _, stderr = stefc(t, "package a\nstruct R root { über_é bool }\n", "-check", "shop.stef")
	require.Contains(t, stderr, "field über_é has the setter SetÜber_é in Go; names are in MixedCaps, write ÜberÉ\n")

	// Each value of a large enum causes a warning, up to a limit. If each value were compared with
	// all others, an enum of 20,000 values would take minutes.
	for n, named := range map[int]int{30: 30, 20_000: maxWarnings} {
		var many strings.Builder
		for i := range n {
			fmt.Fprintf(&many, " VALUE_%d = %d\n", i, i)
		}
		_, _, stderr = stefc(t, "package a\nstruct R root { E E }\nenum E {"+many.String()+" }\n", "-check", "shop.stef")
		require.Equal(t, named, strings.Count(stderr, "MixedCaps"))
	}
}

// TestRunBaseOfNumbers: -base accepts what -numbers prints, for all roots.
func TestRunBaseOfNumbers(t *testing.T) {
	_, code, stderr := stefc(t, "package a\nstruct A root {\n  X uint64\n  Y uint64\n}\nstruct B root {\n  X uint64\n}\n",
		"-base", "A=1\nB=1\n", "shop.stef")
	require.Equal(t, 0, code, stderr)
	a, err := os.ReadFile("a_writer.stef.go")
	require.NoError(t, err)
	require.Contains(t, string(a), "func ABaseSchema() schema.WireSchema {\n\treturn schema.WireSchema{1}\n}")
	code, stderr = again("-base", "A=1\nA=2", "shop.stef")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "root A is set twice")
}
