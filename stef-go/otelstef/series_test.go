// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// For each series, the index caches the last two series that followed it. If the next record belongs to one
// of them, the index finds the series without hashing attributes.
func TestSeriesHaveTwoFollowers(t *testing.T) {
	var x seriesIndex
	x.begin()
	m := NewAttributes()
	m.AppendString("name", "")
	m.AppendInt64("cpu", 0)
	find := func(name string, cpu int64, metric uint64) *series {
		m.clean()
		m.SetString(0, "name", name)
		m.Value(1).SetInt64(cpu)
		return x.find(&container{metric: metric}, true, m, m.node.Modified())
	}
	steps := []struct {
		name   string
		cpu    int64
		metric uint64
	}{{"first", 0, 1}, {"second", 0, 1}, {"first", 0, 1}, {"second", 1, 1}, {"first", 0, 1}, {"second", 1, 2}}
	known := map[any]*series{}
	for turn := range 10 {
		for _, step := range steps[:4+turn/9*2] { // in the last turn a third series follows
			hashed := x.work
			s := find(step.name, step.cpu, step.metric)
			if known[step] == nil {
				known[step] = s
				require.Greater(t, x.work, hashed)
			}
			require.Same(t, known[step], s)
			require.Equal(t, step.metric, s.metric)
			require.Equal(t, step.name, s.set.pairs[0].text)
			require.EqualValues(t, step.cpu, s.set.pairs[1].num)
			if turn > 1 && turn < 9 {
				require.Equal(t, hashed, x.work, "turn %d", turn)
			}
		}
	}
	require.Len(t, known, 4)
}

// When a series is discarded, other streams reuse the memory of its exemplars. This memory must contain no
// exemplars and no texts.
func TestReleasedExemplarsAreEmpty(t *testing.T) {
	e := NewExemplar()
	e.SetTimestamp(1)
	e.FilteredAttributes().AppendString("key", "text")
	x := &seriesExemplars{counted: 5, held: 6, shares: true}
	x.setLen(2)
	for i := range x.list {
		x.list[i].set(e)
	}
	s := &series{exemplars: x}
	s.release()
	require.Equal(t, make([]exemplarCopy, 2), x.list[:cap(x.list)])
	x.list = x.list[:0]
	require.Equal(t, &seriesExemplars{list: x.list}, x)
}
