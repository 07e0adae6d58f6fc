// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MaxWireEntries is the maximum number of entries of a wire schema; readers of the
// format accept no more.
//
// spec: #limits
const MaxWireEntries = 1024

// WireSchema describes the schema that a stream was written in: one field count per
// struct and oneof, in the order in which a walk from the root first visits them. It
// has no names or types; both ends know them.
//
// spec: #wire-schema
type WireSchema []int

// Kept has, for each struct and oneof, the number of its first fields that a stream keeps.
// Later fields have no column and no bit in any mask. A struct that only dropped fields
// refer to is not listed. A nil Kept keeps all fields.
type Kept map[*Struct]int

// WireError reports a wire schema that is damaged or does not fit the schema of the
// reader.
type WireError struct {
	// Entry is the index of the entry with the error, from 0. It is -1 if the error
	// is the number of entries.
	Entry int
	// Struct is the struct or oneof of the entry, if it is known.
	Struct string
	Reason string
}

// Error implements error.
func (e *WireError) Error() string {
	switch {
	case e.Entry < 0:
		return "wire schema: " + e.Reason
	case e.Struct == "":
		return fmt.Sprintf("wire schema: entry %d: %s", e.Entry, e.Reason)
	default:
		return fmt.Sprintf("wire schema: entry %d (%s): %s", e.Entry, e.Struct, e.Reason)
	}
}

// WireOf returns the wire schema of a stream that keeps all fields of root.
func WireOf(root *Struct) WireSchema {
	return Kept(nil).Wire(root)
}

// Wire returns the wire schema that a writer of root announces if it keeps only the fields
// of k. It is the inverse of Keep.
func (k Kept) Wire(root *Struct) WireSchema {
	var w WireSchema
	walk := newWireWalk(func(s *Struct) (int, error) {
		n := k.Of(s)
		w = append(w, n)
		return n, nil
	})
	// The count function above returns no errors, so the walk returns no error.
	_ = walk.enter(root)
	return w
}

// Keep assigns the counts of w to the structs and oneofs of root. Like the writer of
// w, it visits kept fields only. It fails with a *WireError if w has a count greater
// than the number of fields, too few or too many entries, or count 0 for root.
//
// spec: #evolution
func Keep(root *Struct, w WireSchema) (Kept, error) {
	kept := make(Kept, len(w))
	next := 0
	walk := newWireWalk(func(s *Struct) (int, error) {
		if next == len(w) {
			return 0, &WireError{Entry: next, Struct: s.Name, Reason: "is missing"}
		}
		entry, n := next, w[next]
		next++
		if n < 0 || n > len(s.Fields) {
			return 0, &WireError{Entry: entry, Struct: s.Name,
				Reason: fmt.Sprintf("has %d fields, this schema has %d", n, len(s.Fields))}
		}
		if s == root && n == 0 {
			return 0, &WireError{Entry: entry, Struct: s.Name, Reason: "the root has no fields"}
		}
		kept[s] = n
		return n, nil
	})
	if err := walk.enter(root); err != nil {
		return nil, err
	}
	if next < len(w) {
		return nil, &WireError{Entry: next,
			Reason: fmt.Sprintf("is one too many: with the numbers %s, root %s has only %d structs and oneofs", w[:next].Text(), root.Name, next)}
	}
	return kept, nil
}

// Of returns the number of fields of s that are kept.
func (k Kept) Of(s *Struct) int {
	if k == nil {
		return len(s.Fields)
	}
	return k[s]
}

// Text returns the field counts separated by commas, such as "6,3".
func (w WireSchema) Text() string {
	var b strings.Builder
	for i, n := range w {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// ParseWireText parses a wire schema as Text prints it, such as "6,3", or as package fmt
// prints it, such as "[6 3]". It does not compare the result with a schema; Keep does.
func ParseWireText(text string) (WireSchema, error) {
	counts := strings.Split(text, ",")
	if inside, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inside, "]") {
		counts = strings.Split(strings.TrimSuffix(inside, "]"), " ")
	}
	var w WireSchema
	for _, count := range counts {
		n, err := strconv.ParseUint(count, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number of fields", count)
		}
		w = append(w, int(n))
	}
	return w, nil
}

// ParseWireTexts returns the wire schemas of one or more roots by name. text has Root=N,N or
// Root=[N N] for each root, and white space between roots. stefc -numbers prints the first form.
func ParseWireTexts(text string) (map[string]WireSchema, error) {
	var roots, counts []string
	for _, word := range strings.Fields(text) {
		root, rest, ok := strings.Cut(word, "=")
		switch {
		case ok:
			roots, counts = append(roots, root), append(counts, rest)
		case len(roots) > 0:
			counts[len(roots)-1] += " " + word
		}
	}
	if len(roots) == 0 || !strings.HasPrefix(strings.TrimSpace(text), roots[0]+"=") {
		return nil, fmt.Errorf("must be of the form Root=N,N")
	}
	schemas := map[string]WireSchema{}
	for i, root := range roots {
		if schemas[root] != nil {
			return nil, fmt.Errorf("root %s is set twice", root)
		}
		w, err := ParseWireText(counts[i])
		if err != nil {
			return nil, err
		}
		schemas[root] = w
	}
	return schemas, nil
}

// AppendBinary appends the bytes of w to dst. It fails with a *WireError if w is not
// a valid wire schema.
func (w WireSchema) AppendBinary(dst []byte) ([]byte, error) {
	if len(w) > MaxWireEntries {
		return dst, tooManyEntries(uint64(len(w)))
	}
	for i, n := range w {
		if n < 0 || n > math.MaxInt32 {
			return dst, badCount(i, n)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(w)))
	for _, n := range w {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst, nil
}

// ParseWire reads a wire schema from the start of b and returns the bytes
// after it. Errors are of type *WireError.
func ParseWire(b []byte) (w WireSchema, rest []byte, err error) {
	count, b, reason := cutUvarint(b)
	if reason != "" {
		return nil, nil, &WireError{Entry: -1, Reason: "number of entries " + reason}
	}
	if count > MaxWireEntries {
		return nil, nil, tooManyEntries(count)
	}
	// Each entry is at least one byte, so b bounds the allocation.
	if count > uint64(len(b)) {
		return nil, nil, &WireError{Entry: -1,
			Reason: fmt.Sprintf("it announces %d entries, but only %d bytes follow", count, len(b))}
	}
	w = make(WireSchema, count)
	for i := range w {
		var n uint64
		n, b, reason = cutUvarint(b)
		if reason != "" {
			return nil, nil, &WireError{Entry: i, Reason: reason}
		}
		if n > math.MaxInt32 {
			return nil, nil, badCount(i, n)
		}
		w[i] = int(n)
	}
	return w, b, nil
}

// cutUvarint reads a U64 from the start of b. The reason is "" on success.
//
// spec: #uvarint
func cutUvarint(b []byte) (v uint64, rest []byte, reason string) {
	v, n := binary.Uvarint(b)
	switch {
	case n == 0:
		return 0, nil, "is cut off"
	case n < 0:
		return 0, nil, "overflows 64 bits"
	}
	return v, b[n:], ""
}

func tooManyEntries(n uint64) error {
	return &WireError{Entry: -1, Reason: fmt.Sprintf("it has %d entries, the limit is %d", n, MaxWireEntries)}
}

func badCount[T int | uint64](entry int, n T) error {
	return &WireError{Entry: entry, Reason: fmt.Sprintf("%d is not a possible number of fields", n)}
}

// wireWalk visits every struct and oneof below a root once, in wire order.
type wireWalk struct {
	// count is called at the first visit of a struct and returns the number of its
	// fields to walk into.
	count func(*Struct) (int, error)
	// leave, if set, is called after the fields of a struct are walked.
	leave func(*Struct) error
	seen  map[*Struct]bool
	// walked holds the multimaps that were or are being visited. The format walks a
	// multimap again at each visit, but all structs in it were visited before.
	// Skipping the walk saves time that is otherwise exponential in the depth of
	// nested multimaps, and changes nothing else.
	walked map[*Multimap]bool
}

func newWireWalk(count func(*Struct) (int, error)) *wireWalk {
	return &wireWalk{count: count, seen: map[*Struct]bool{}, walked: map[*Multimap]bool{}}
}

func (w *wireWalk) enter(s *Struct) error {
	if w.seen[s] {
		return nil
	}
	w.seen[s] = true
	n, err := w.count(s)
	if err != nil {
		return err
	}
	for _, f := range s.Fields[:n] {
		if err := w.visit(&f.Type); err != nil {
			return err
		}
	}
	if w.leave == nil {
		return nil
	}
	return w.leave(s)
}

func (w *wireWalk) visit(t *Type) error {
	switch t.Kind {
	case KindStruct, KindOneof:
		return w.enter(t.Struct)
	case KindArray:
		return w.visit(t.Elem)
	case KindMultimap:
		if w.walked[t.Multimap] {
			return nil
		}
		w.walked[t.Multimap] = true
		if err := w.visit(&t.Multimap.Key); err != nil {
			return err
		}
		return w.visit(&t.Multimap.Value)
	}
	return nil
}
