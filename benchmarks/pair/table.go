// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairbench

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// result is the best round of each variant with a set.
type result struct {
	set    string
	procs  int
	rounds int
	best   map[variant]cost
}

func newResult(s set) *result {
	return &result{set: s.String(), procs: runtime.GOMAXPROCS(0), best: map[variant]cost{}}
}

// merge takes the cost of a round in: of its mean pass.
func (r *result) merge(v variant, c cost) {
	c = c.once()
	best, ok := r.best[v]
	if !ok {
		best = c
	}
	best.cpu = min(best.cpu, c.cpu)
	best.sent = min(best.sent, c.sent)
	best.received = min(best.received, c.received)
	best.allocs = min(best.allocs, c.allocs)
	best.heap = min(best.heap, c.heap)
	r.best[v] = best
}

// complete says whether there is something to compare.
func (r *result) complete() bool { return len(r.best) == 3 }

// speed is how many times the items of another variant one processor second
// brings to the other end by STEF.
func (r *result) speed(than variant) float64 {
	return r.best[than].nsPerItem() / r.best[stefZstd].nsPerItem()
}

// size is the bytes on the wire by those of another variant.
func (r *result) size(than variant) float64 {
	return r.best[stefZstd].wirePerItem() / r.best[than].wirePerItem()
}

// results are those of all benchmarks of this run.
var results []*result

// resultOf returns the result of a set with the processors of the moment.
func resultOf(s set) *result {
	fresh := newResult(s)
	for _, r := range results {
		if r.set == fresh.set && r.procs == fresh.procs {
			return r
		}
	}
	results = append(results, fresh)
	return fresh
}

// totals returns the results of signals: each set once.
func totals() []*result {
	var list []*result
	for _, r := range results {
		signal, _, _ := strings.Cut(r.set, "/")
		name := signal + ", all sets"
		i := slices.IndexFunc(list, func(t *result) bool { return t.set == name && t.procs == r.procs })
		if i < 0 {
			i = len(list)
			list = append(list, &result{set: name, procs: r.procs, rounds: r.rounds, best: map[variant]cost{}})
		}
		for v, c := range r.best {
			sum := list[i].best[v]
			sum.add(c)
			list[i].best[v] = sum
		}
	}
	return list
}

// printTable writes the results as Markdown.
func printTable(w io.Writer) {
	fmt.Fprintf(w, "\nBatches of %d items, %d at a time, CPU of both ends, bytes both ways, best rounds.\n\n", batchItems, senders)
	row(w, "set", "procs", "rounds", "variant", "items/CPU s", "CPU ns/item", "B/item", "B/item back", "allocs/item", "heap B/item", "STEF speed", "STEF size")
	row(w, slices.Repeat([]string{"---"}, 12)...)
	for _, r := range slices.Concat(results, totals()) {
		for _, v := range variants {
			c := r.best[v]
			cells := []string{r.set, fmt.Sprint(r.procs), fmt.Sprint(r.rounds), v.name,
				fmt.Sprintf("%.0f", c.itemsPerSec()), fmt.Sprintf("%.0f", c.nsPerItem()),
				fmt.Sprintf("%.2f", c.wirePerItem()), fmt.Sprintf("%.3f", c.backPerItem()),
				fmt.Sprintf("%.2f", c.allocsPerItem()), fmt.Sprintf("%.0f", c.heapPerItem()), "", ""}
			if v != stefZstd && r.complete() {
				cells[10], cells[11] = fmt.Sprintf("%.2f", r.speed(v)), fmt.Sprintf("%.3f", r.size(v))
			}
			row(w, cells...)
		}
	}
}

func row(w io.Writer, cells ...string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
