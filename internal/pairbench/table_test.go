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
	set    set
	procs  int
	rounds int
	best   map[variant]cost
}

// speed is how many times the items of another variant one processor second
// brings to the other end by STEF, and size the bytes on the wire by those of the
// other.
func (r *result) speed(than variant) float64 {
	return r.best[than].nsPerItem() / r.best[stefZstd].nsPerItem()
}

func (r *result) size(than variant) float64 {
	return r.best[stefZstd].wirePerItem() / r.best[than].wirePerItem()
}

// merge takes a round in.
func (r *result) merge(v variant, c cost) {
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

// results are those of all benchmarks of this run.
var results []*result

// resultOf returns the result of a set with the processors of the moment.
func resultOf(s set) *result {
	for _, r := range results {
		if r.set.String() == s.String() && r.procs == runtime.GOMAXPROCS(0) {
			return r
		}
	}
	r := &result{set: s, procs: runtime.GOMAXPROCS(0), best: map[variant]cost{}}
	results = append(results, r)
	return r
}

// printTable writes the results as Markdown.
func printTable(w io.Writer) {
	fmt.Fprintf(w, "\nBatches of %d items, %d at a time, CPU of both ends, bytes both ways, best rounds.\n\n", batchItems, senders)
	row(w, "set", "procs", "rounds", "variant", "items/CPU s", "CPU ns/item", "B/item", "B/item back", "allocs/item", "heap B/item", "STEF speed", "STEF size")
	row(w, slices.Repeat([]string{"---"}, 12)...)
	for _, r := range results {
		for _, v := range variants {
			c := r.best[v]
			cells := []string{r.set.String(), fmt.Sprint(r.procs), fmt.Sprint(r.rounds), v.name,
				fmt.Sprintf("%.0f", c.itemsPerSec()), fmt.Sprintf("%.0f", c.nsPerItem()),
				fmt.Sprintf("%.2f", c.wirePerItem()), fmt.Sprintf("%.3f", c.backPerItem()),
				fmt.Sprintf("%.2f", c.allocsPerItem()), fmt.Sprintf("%.0f", c.heapPerItem()), "", ""}
			if v != stefZstd {
				cells[10], cells[11] = fmt.Sprintf("%.2f", r.speed(v)), fmt.Sprintf("%.3f", r.size(v))
			}
			row(w, cells...)
		}
	}
}

func row(w io.Writer, cells ...string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
