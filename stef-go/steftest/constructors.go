// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/otelstef/stef/stef-go/schema"
)

// complete returns an error if the constructor of a type below rec, a record of the
// root, is missing. Without the constructor, mutators would skip some changes, and no
// test would detect this.
func (r *Root) complete(rec any) error {
	w := constructorWalk{root: r, seen: map[reflect.Type]bool{}}
	w.visit(&schema.Type{Kind: schema.KindStruct, Struct: r.Schema}, reflect.TypeOf(rec))
	if len(w.missing) == 0 {
		return nil
	}
	return fmt.Errorf("constructors are missing, pass them to NewRoot: %s", strings.Join(w.missing, ", "))
}

// constructorWalk visits the generated types below a record in the order of the schema.
type constructorWalk struct {
	root    *Root
	seen    map[reflect.Type]bool
	missing []string
}

func (w *constructorWalk) visit(t *schema.Type, v reflect.Type) {
	if !t.Kind.Composite() || w.seen[v] {
		return
	}
	w.seen[v] = true
	if t.Kind == schema.KindArray {
		if t.Elem.Kind.Composite() {
			w.visit(t.Elem, resultOf(v, "At"))
		}
		return
	}
	if _, ok := w.root.make[v]; !ok {
		w.missing = append(w.missing, strings.Replace(strings.TrimPrefix(v.String(), "*"), ".", ".New", 1))
	}
	if t.Kind == schema.KindMultimap {
		w.visit(&t.Multimap.Key, resultOf(v, "Key"))
		w.visit(&t.Multimap.Value, resultOf(v, "Value"))
		return
	}
	for _, f := range t.Struct.Fields {
		w.visit(&f.Type, resultOf(v, exported(f.Name)))
	}
}

// resultOf returns the type of the first result of a method of a generated type.
func resultOf(v reflect.Type, name string) reflect.Type {
	return method(reflect.Zero(v), name).Type().Out(0)
}

// missingConstructors returns the errors of complete for the roots. It skips roots
// without any constructor, because they are not used with mutators.
func missingConstructors(tb testing.TB, roots []*Root) (all []string) {
	tb.Helper()
	for _, r := range roots {
		if len(r.make) == 0 {
			continue
		}
		w, err := r.NewWriter(io.Discard)
		if err != nil {
			tb.Fatalf("writer of %s: %v", r.Schema.Name, err)
		}
		if err := r.complete(w.Record()); err != nil {
			all = append(all, fmt.Sprintf("root %s: %v", r.Schema.Name, err))
		}
		_ = w.Close() // no record was written
	}
	return all
}
