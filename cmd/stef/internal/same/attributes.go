// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package same

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata"
)

type pair struct {
	key   string
	value pcommon.Value
}

// sort sorts attributes by key, if that is asked for. Those of equal keys keep
// their order.
func (s *Set) sort(m pcommon.Map) {
	if !s.SortAttributes {
		return
	}
	pairs := make([]pair, 0, m.Len())
	for k, v := range m.All() {
		pairs = append(pairs, pair{k, v})
	}
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	if slices.IsSortedFunc(pairs, byKey) {
		return
	}
	slices.SortStableFunc(pairs, byKey)
	var b xpdata.MapBuilder // a Map itself would merge equal keys
	b.EnsureCapacity(len(pairs))
	for _, p := range pairs {
		p.value.CopyTo(b.AppendEmpty(p.key))
	}
	b.UnsafeIntoMap(m)
}
