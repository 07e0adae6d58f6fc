// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
)

// ids returns bodies whose templates cost more than they save: the whole body is one
// parameter.
func ids(r *rand.Rand, n int) (bodies []string) {
	for range n {
		bodies = append(bodies, fmt.Sprintf("%c%d%c%d", 'a'+r.IntN(26), r.IntN(10), 'a'+r.IntN(26), r.IntN(10)))
	}
	return bodies
}

// requests returns bodies whose templates save many bytes.
func requests(r *rand.Rand, n int) (bodies []string) {
	for range n {
		bodies = append(bodies, fmt.Sprintf("10.0.0.%d asked node %d of zone %d for block %d, which took %d us and %d reads",
			r.IntN(100), r.IntN(50), r.IntN(9), r.IntN(100), r.IntN(100), r.IntN(100)))
	}
	return bodies
}

// lastSplit adds batches of bodies that kind returns. It returns how many bodies were split in all
// batches together, and in the last ten batches together.
func lastSplit(s *Splitter, r *rand.Rand, batches, size int, kind func(r *rand.Rand, n int) []string) (all, last int) {
	for i := range batches {
		s.Batch(size)
		n := addAll(s, 1, 1, kind(r, size)...)
		if all += n; i >= batches-10 {
			last += n
		}
	}
	return all, last
}

// If templates save too little, bodies are no longer split. When the data changes so that templates
// save bytes, bodies are split again. This holds for each change, in small and in large batches.
func TestDecisionFollowsTheData(t *testing.T) {
	for _, size := range []int{3, 20, 100, 400} {
		r := rand.New(rand.NewPCG(5, 6))
		var s Splitter
		batches := 12_000/size + 10
		for range 3 {
			all, last := lastSplit(&s, r, batches, size, ids)
			require.Zero(t, last, "batches of %d", size)
			require.Less(t, all, batches*size/3, "batches of %d", size)
			_, last = lastSplit(&s, r, batches, size, requests)
			require.Equal(t, 10*size, last, "batches of %d", size)
		}
	}
}

// orders returns bodies with several words that are new each time.
func orders(r *rand.Rand, n int) (bodies []string) {
	for range n {
		bodies = append(bodies, fmt.Sprintf("order %d of customer c-%d took %d.%d ms, status 200", r.Uint32(), r.Uint32(), r.IntN(1000), r.IntN(1000)))
	}
	return bodies
}

// Words that are new to the dictionaries take CPU time. Bodies with many new words are split only if
// Small is set: then the size of the stream matters, and CPU time does not.
func TestDecisionCountsNewWords(t *testing.T) {
	var s Splitter
	_, last := lastSplit(&s, rand.New(rand.NewPCG(7, 8)), 200, 100, orders)
	require.LessOrEqual(t, last, 10*100/8, "samples only")
	s = Splitter{Small: true}
	_, last = lastSplit(&s, rand.New(rand.NewPCG(7, 8)), 200, 100, orders)
	require.Equal(t, 10*100, last)
}

// If bodies repeat other fields of their log records, all but the first refTests bodies have reference
// templates, whose parameters refer to these fields. If later bodies do not repeat any field,
// ordinary templates are used again.
func TestReferenceTemplatesFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := Splitter{References: true}
	add := func(n int, repeats bool) (byReference, split int) {
		s.Batch(n)
		s.Begin()
		trial := s.Policy(1, 1, n)
		for i := range n {
			path, agent := fmt.Sprintf("/item/%d", r.IntN(20)), fmt.Sprintf("agent %d", r.IntN(20))
			lr := plog.NewLogRecord()
			lr.Body().SetStr(fmt.Sprintf("GET %s by %s took %d ms and %d reads", path, agent, i%10, r.IntN(10)))
			if repeats {
				lr.Attributes().PutStr("path", path)
				lr.Attributes().PutStr("agent", agent)
			}
			s.Add(lr, trial)
		}
		s.Decide(trial)
		for i := range n {
			if b := s.Body(i); b != nil {
				split++
				if len(b.refs) > 0 {
					byReference++
				}
			}
		}
		return byReference, split
	}
	byReference, _ := add(100, true)
	require.Equal(t, 100-refTests, byReference)
	byReference, _ = add(100, true)
	require.Equal(t, 100, byReference)
	split := 0
	for range 100 {
		byReference, split = add(100, false)
	}
	require.Zero(t, byReference)
	require.Equal(t, 100, split)
}

// If bodies of many shapes repeat no field, the splitter stops searching them for fields. If later
// bodies repeat fields, most bodies have references after some batches.
func TestSearchesForLinksEnd(t *testing.T) {
	s := Splitter{References: true, Always: true}
	number := 0
	batch := func(repeats bool) (byReference int) {
		const n = 256
		s.Batch(n)
		s.Begin()
		trial := s.Policy(1, 1, n)
		for range n {
			number++
			user := fmt.Sprintf("user-%d", number*7919%1000)
			lr := plog.NewLogRecord()
			kind := strings.Repeat("x", 1+number%32)
			lr.Body().SetStr(fmt.Sprintf("request kind %s by %s took %d ms in the shop", kind, user, number%97))
			if repeats {
				lr.Attributes().PutStr("user", user)
			}
			s.Add(lr, trial)
		}
		s.Decide(trial)
		for i := range n {
			if b := s.Body(i); b != nil && len(b.refs) > 0 {
				byReference++
			}
		}
		return byReference
	}
	for range 8 {
		require.Zero(t, batch(false))
	}
	links := &s.Policy(1, 1, 0).refTemplates
	require.LessOrEqual(t, links.shapes.all+links.tries.all, 40) // of 64 that the shapes want
	byReference := 0
	for range 40 {
		byReference = batch(true)
	}
	require.Greater(t, byReference, 200)
}

// The number of references in a text, the parts that repeat a field of the record, is bounded.
func TestReferencesAreBounded(t *testing.T) {
	lr := plog.NewLogRecord()
	text := strings.Repeat("abcd ", 10_000)
	for i := range 256 {
		lr.Attributes().PutStr(fmt.Sprint(i), "abcd")
	}
	var k Known
	k.of(lr)
	require.Len(t, k.fieldRefs(text), maxFound)
	lr.Attributes().PutStr("all", text[:4000])
	k.of(lr)
	require.LessOrEqual(t, len(k.fieldRefs(text)), maxFound)
	require.Zero(t, testing.AllocsPerRun(10, func() { k.fieldRefs(text) })-testing.AllocsPerRun(10, func() { k.fieldRefs("abcd") }))
}

// Bodies that are not texts do not count against the templates of the texts between them.
func TestDecisionOfMixedBodies(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var s Splitter
	split := 0
	for range 100 {
		s.Batch(1000)
		s.Begin()
		trial := s.Policy(1, 1, 1000)
		for _, body := range requests(r, 100) {
			lr := plog.NewLogRecord()
			lr.Body().SetStr(body)
			s.Add(lr, trial)
			lr.Body().SetEmptyMap()
			for range 9 {
				s.Add(lr, trial)
			}
		}
		s.Decide(trial)
		split = 0
		for i := range s.bodies {
			if s.bodies[i].shape != nil {
				split++
			}
		}
	}
	require.Equal(t, 100, split)
}

// At first, the templates of a resource and scope do not recur. Its later bodies are sampled
// nevertheless. The templates of these bodies recur, but save too little, so only the bodies of the
// samples are split.
func TestDecisionAfterPause(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var s Splitter
	for i := range 10 {
		bodies := make([]string, 200)
		for k := range bodies {
			bodies[k] = strings.Repeat(string(rune('a'+i)), k+1) + strings.Repeat("z", i+1) + " 1"
		}
		s.Batch(200)
		addAll(&s, 1, 1, bodies...)
	}
	_, last := lastSplit(&s, r, 1000, 100, ids)
	require.LessOrEqual(t, last, 10*100/8)
}

// Short bodies are not split even if their template recurs: the few bytes that the template saves
// are not worth the CPU time.
func TestDecisionCountsCPU(t *testing.T) {
	var s Splitter
	few := func(r *rand.Rand, n int) (bodies []string) {
		for range n {
			bodies = append(bodies, fmt.Sprintf("shard %d is ready", r.IntN(9)))
		}
		return bodies
	}
	_, last := lastSplit(&s, rand.New(rand.NewPCG(7, 8)), 200, 20, few)
	require.LessOrEqual(t, last, 200/8, "samples only")
}

// Bodies whose templates save many bytes are split in every batch.
func TestDecisionStaysOn(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var s Splitter
	s.Batch(100)
	all, _ := lastSplit(&s, r, 500, 20, requests)
	require.Equal(t, 500*20, all)
}

// The bodies of uncompressed streams are always split, because templates save far more bytes
// there than in compressed streams.
func TestDecisionOfPlainStreams(t *testing.T) {
	s := Splitter{Always: true}
	all, _ := lastSplit(&s, rand.New(rand.NewPCG(7, 8)), 500, 20, ids)
	require.Equal(t, 500*20, all)
	require.Nil(t, s.sizes)
}

// The bodies of a small first batch are not split. The bodies of later batches are split.
func TestSmallFirstBatches(t *testing.T) {
	f := func(size, first int) {
		t.Helper()
		var s Splitter
		for range 2 { // the second stream is like the first stream
			r := rand.New(rand.NewPCG(9, 9))
			s.Batch(size)
			require.Equal(t, first, addAll(&s, 1, 1, requests(r, size)...))
			s.Batch(size)
			require.Equal(t, size, addAll(&s, 1, 1, requests(r, size)...))
			s.Reset()
		}
	}
	f(1, 0)
	f(minFirst-1, 0)
	f(minFirst, minFirst)
}

// After Reset, a splitter splits the same bodies again as a new splitter.
func TestDecisionAfterReset(t *testing.T) {
	var s Splitter
	run := func() (split []int) {
		r := rand.New(rand.NewPCG(3, 3))
		for i := range 400 {
			kind := ids
			if i/100%2 == 1 {
				kind = requests
			}
			n := 1 + r.IntN(40)
			s.Batch(n)
			split = append(split, addAll(&s, uint32(r.IntN(3)), 1, kind(r, n)...))
		}
		return split
	}
	first := run()
	require.NotZero(t, slices.Max(first[300:]))
	s.Reset()
	require.Equal(t, first, run())
}

// A meter estimates the compressed size of columns. It finds repetitions within a column and between
// columns, in a window of limited size.
func TestMeter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 2000)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	var m meter
	require.InDelta(t, len(random)*literalBits, m.bits(random, literalBits), 100)
	require.Less(t, m.bits(random, literalBits), 200, "one match, and what its hash table lost")
	require.Less(t, m.bits([]byte(strings.Repeat("a", 5000)), literalBits), 100)
	require.Zero(t, m.bits(nil, literalBits))
	for range 200 {
		column := make([]byte, r.IntN(40_000))
		for i := range column {
			column[i] = byte(r.IntN(7))
		}
		size := m.bits(column, literalBits)
		require.LessOrEqual(t, size, len(column)*literalBits+matchBits)
		require.LessOrEqual(t, len(m.window), meterWindow)
		require.LessOrEqual(t, cap(m.window), 2*meterWindow)
	}
	again := meter{window: m.window[:0]}
	m.forget()
	require.Equal(t, again.bits(random, literalBits), m.bits(random, literalBits), "nothing of the columns before")
}

// In steady state, the comparison of a sample with its templates allocates nothing, whether templates
// save bytes or not.
func TestSamplesDoNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []func(r *rand.Rand, n int) []string{ids, requests} {
		var s Splitter
		ld := plog.NewLogRecordSlice()
		for _, body := range kind(r, 1000) {
			ld.AppendEmpty().Body().SetStr(body)
		}
		weighed := 0
		batch := func() {
			s.Begin()
			s.Batch(ld.Len())
			trial := s.Policy(1, 1, ld.Len())
			trial.decision.skipBytes = 0
			for i := range ld.Len() {
				s.Add(ld.At(i), trial)
			}
			if s.to > 0 {
				weighed++
			}
			s.Decide(trial)
		}
		for range 100 {
			batch()
		}
		weighed = 0
		require.Zero(t, testing.AllocsPerRun(100, batch))
		require.Equal(t, 101, weighed)
	}
}

// References are used soon after the texts begin to repeat fields. After a change of the
// attributes, they are used again soon. This holds for a stream of any age, and after any number of
// such changes.
func TestLinksOfOldStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	var s Splitter
	batch := func(layout int) (byReference int) {
		const n = 200
		s.Batch(n)
		s.Begin()
		trial := s.Policy(1, 1, n)
		for range n {
			user, order := fmt.Sprintf("%012x", r.Uint64()>>16), fmt.Sprint(1_000_000_000+r.IntN(1_000_000_000))
			lr := plog.NewLogRecord()
			lr.Body().SetStr(fmt.Sprintf("the user %s of this shop placed one more order with number %s and paid with method %d in region eu-west", user, order, r.IntN(5)))
			for i := range layout {
				lr.Attributes().PutStr(fmt.Sprint("before ", i), "v")
			}
			if layout >= 0 {
				lr.Attributes().PutStr("user", user)
				lr.Attributes().PutStr("order", order)
			}
			s.Add(lr, trial)
		}
		s.Decide(trial)
		for i := range n {
			if b := s.Body(i); b != nil && len(b.refs) > 0 {
				byReference++
			}
		}
		return byReference
	}
	for _, plain := range []int{0, 100} {
		s = Splitter{References: true, Always: plain > 0}
		for range plain {
			require.Zero(t, batch(-1))
		}
		for change := range 8 {
			for range 15 {
				batch(change)
			}
			for range 60 {
				require.Equal(t, 200, batch(change), "change %d after %d batches", change, plain)
			}
		}
	}
}
