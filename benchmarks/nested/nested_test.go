// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package nested

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

func TestRoundTrip(t *testing.T) {
	f := func(fill func(v pcommon.Value)) {
		t.Helper()
		v := pcommon.NewValueEmpty()
		fill(v)
		back := pcommon.NewValueEmpty()
		require.NoError(t, Parse(Append([]byte("before"), v)[len("before"):], back))
		require.True(t, v.Equal(back), "%s came back as %s", v.AsString(), back.AsString())
	}
	f(func(pcommon.Value) {})
	f(func(v pcommon.Value) { v.SetStr("") })
	f(func(v pcommon.Value) { v.SetStr(strings.Repeat("x", 70000)) })
	f(func(v pcommon.Value) { v.SetBool(true) })
	f(func(v pcommon.Value) { v.SetBool(false) })
	f(func(v pcommon.Value) { v.SetInt(math.MinInt64) })
	f(func(v pcommon.Value) { v.SetDouble(math.Inf(-1)) })
	f(func(v pcommon.Value) { v.SetEmptyBytes().FromRaw([]byte{0, 255}) })
	f(func(v pcommon.Value) { v.SetEmptySlice() })
	f(func(v pcommon.Value) { v.SetEmptyMap() })
	f(func(v pcommon.Value) {
		m := v.SetEmptyMap()
		m.PutStr("text", strings.Repeat("y", 127))
		list := m.PutEmptySlice("list")
		for i := range 100 {
			list.AppendEmpty().SetInt(int64(i))
		}
		list.AppendEmpty()
		m.PutEmptyMap("in").PutEmptyMap("in").PutDouble("pi", math.Pi)
	})
}

func TestDamaged(t *testing.T) {
	f := func(b ...byte) {
		t.Helper()
		require.ErrorIs(t, Parse(b, pcommon.NewValueEmpty()), errDamaged)
	}
	f(0x0a)
	f(0x0a, 5, 'x')
	f(0x0d, 0, 0, 0, 0)
	f(0x32, 2, 0x0a, 9)
	f(0x32, 4, 0x0a, 2, 0x0a, 9)
}
