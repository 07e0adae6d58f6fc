// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Items are a multiset of data points, spans or log records. They store only a
// hash of each item, and create the text of an item again to show it.
type Items struct {
	each    func(yield func(text []byte) bool)
	entries []entry // sorted by hash, then by order of appearance
}

type entry struct {
	hash  [16]byte
	index int
}

func itemsOf[B any, R resourced, S scoped, I any](x *tree[B, R, S, I], o Options, batches []B) *Items {
	return newItems(func(yield func([]byte) bool) { x.each(o, batches, yield) })
}

func newItems(each func(yield func([]byte) bool)) *Items {
	s := &Items{each: each}
	each(func(text []byte) bool {
		sum := sha256.Sum256(text)
		s.entries = append(s.entries, entry{[16]byte(sum[:16]), len(s.entries)})
		return true
	})
	slices.SortFunc(s.entries, func(a, b entry) int {
		return cmp.Or(bytes.Compare(a.hash[:], b.hash[:]), cmp.Compare(a.index, b.index))
	})
	return s
}

// Len returns the number of items.
func (s *Items) Len() int { return len(s.entries) }

// Text returns the text of all items, sorted. It is meant for small sets.
func (s *Items) Text() string {
	var all []string
	s.each(func(text []byte) bool {
		all = append(all, string(text))
		return true
	})
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// texts returns the texts of the items with the given indices, in ascending order.
func (s *Items) texts(indices []int) []string {
	var found []string
	i := 0
	s.each(func(text []byte) bool {
		if len(found) < len(indices) && indices[len(found)] == i {
			found = append(found, string(text))
		}
		i++
		return len(found) < len(indices)
	})
	return found
}

// Diff returns "" if want and got are equal. Otherwise it shows the first item of
// want that is not in got, and compares it with the most similar item of got.
func Diff(want, got *Items) string {
	missing, extra := difference(want.entries, got.entries)
	if len(missing) == 0 && len(extra) == 0 {
		return ""
	}
	head := fmt.Sprintf("%d of %d items are missing, %d of %d are not wanted\n", len(missing), want.Len(), len(extra), got.Len())
	// Comparing all candidates would take quadratic time in large sets. In the
	// sets of tests, the most similar item is among the first 2,000.
	const candidates = 2000
	others := got.texts(extra[:min(len(extra), candidates)])
	if len(missing) == 0 {
		return head + fmt.Sprintf("item %d is not wanted:\n", extra[0]+1) + lineDiff("", others[0])
	}
	text := want.texts(missing[:1])[0]
	head += fmt.Sprintf("item %d is missing", missing[0]+1)
	if len(others) == 0 {
		return head + ":\n" + lineDiff(text, "")
	}
	best := mostLike(text, others)
	return head + fmt.Sprintf("; item %d is the most like it:\n", extra[best]+1) + lineDiff(text, others[best])
}

// difference returns the indices of entries that occur in only one of a and b,
// each in ascending order.
func difference(a, b []entry) (onlyA, onlyB []int) {
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = bytes.Compare(a[0].hash[:], b[0].hash[:])
		}
		if order < 0 {
			onlyA = append(onlyA, a[0].index)
		}
		if order > 0 {
			onlyB = append(onlyB, b[0].index)
		}
		if order <= 0 {
			a = a[1:]
		}
		if order >= 0 {
			b = b[1:]
		}
	}
	slices.Sort(onlyA)
	slices.Sort(onlyB)
	return onlyA, onlyB
}

// mostLike returns the index of the text in others that shares the most lines with text.
func mostLike(text string, others []string) int {
	lines := map[string]bool{}
	for l := range strings.Lines(text) {
		lines[l] = true
	}
	best, most := 0, -1
	for i, other := range others {
		shared := 0
		for l := range strings.Lines(other) {
			if lines[l] {
				shared++
			}
		}
		if shared > most {
			best, most = i, shared
		}
	}
	return best
}

// lineDiff shows the lines of both texts: - marks a line only in want, + a line only in got.
func lineDiff(want, got string) string {
	a, b := splitLines(want), splitLines(got)
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out.WriteString("  " + a[i] + "\n")
			i++
			j++
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out.WriteString("- " + a[i] + "\n")
			i++
		default:
			out.WriteString("+ " + b[j] + "\n")
			j++
		}
	}
	return out.String()
}

// splitLines returns the first lines of an item, up to a fixed number: longer diffs do
// not help, and the memory of a diff grows with the square of the number of lines.
func splitLines(s string) []string {
	const most = 1000
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) > most {
		lines = append(lines[:most:most], fmt.Sprintf("(%d lines more)", len(lines)-most))
	}
	return lines
}
