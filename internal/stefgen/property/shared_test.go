// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package property_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/shared"
)

// TestRefusedChangesChangeNothing: each way to change a shared value panics, does not change
// the value, and panics again when repeated.
func TestRefusedChangesChangeNothing(t *testing.T) {
	f := func(change func(v *shared.Outer)) {
		t.Helper()
		v, before := shared.NewOuter(), shared.NewOuter()
		v.SetBlob([]byte("12345678"))
		v.Words().Append("a")
		v.Words().Append("b")
		v.EditMiddle().Holder().Flags().Append(true)
		v.EditMiddle().EditInner().SetRaw([]byte("raw"))
		before.CopyFrom(v)
		change(before)
		require.False(t, v.Equal(before), "it is a change")
		before.CopyFrom(v)
		shared.NewRecord().SetOuter(v)
		for range 2 {
			require.Panics(t, func() { change(v) })
			require.True(t, before.Equal(v))
		}
	}
	f(func(v *shared.Outer) { v.SetN(7) })
	f(func(v *shared.Outer) { v.SetBlob([]byte("abcdefgh")) })
	f(func(v *shared.Outer) { v.SetBlob(nil) })
	f(func(v *shared.Outer) { v.Words().Append("x") })
	f(func(v *shared.Outer) { v.Words().Set(0, "x") })
	f(func(v *shared.Outer) { v.Words().SetLen(1) })
	f(func(v *shared.Outer) { v.Words().Delete(0, 1) })
	f(func(v *shared.Outer) { v.Words().SetValues([]string{"x"}) })
	f(func(v *shared.Outer) { v.Words().Reset() })
	f(func(v *shared.Outer) { v.Middle().SetRatio(0.5) })
	f(func(v *shared.Outer) { v.Middle().Holder().SetFlag(true) })
	f(func(v *shared.Outer) { v.Middle().Holder().Flags().Set(0, false) })
	f(func(v *shared.Outer) { v.Middle().Inner().SetRaw([]byte("war")) })
	f(func(v *shared.Outer) { v.Middle().Inner().SetS("x") })
	f(func(v *shared.Outer) { v.Reset() })
	f(func(v *shared.Outer) {
		inner := shared.NewInner()
		inner.SetS("new")
		v.Middle().Holder().SetInner(inner)
	})
	f(func(v *shared.Outer) {
		o := shared.NewOuter()
		o.SetN(9)
		v.CopyFrom(o)
	})
}
