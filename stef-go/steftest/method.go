// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"fmt"
	"reflect"
	"sync"
	"unicode"

	"github.com/otelstef/stef/stef-go/schema"
)

// methods caches the indexes of methods by type and name. With a sync.Map, each lookup would
// allocate its key.
var (
	methods   = map[methodKey]int{}
	methodsMu sync.RWMutex
)

type methodKey struct {
	typ  reflect.Type
	name string
}

// has reports whether v has a method of that name.
func has(v reflect.Value, name string) bool { return methodIndex(v, name) >= 0 }

func methodIndex(v reflect.Value, name string) int {
	key := methodKey{v.Type(), name}
	methodsMu.RLock()
	i, ok := methods[key]
	methodsMu.RUnlock()
	if ok {
		return i
	}
	i = -1
	if m, ok := key.typ.MethodByName(name); ok {
		i = m.Index
	}
	methodsMu.Lock()
	methods[key] = i
	methodsMu.Unlock()
	return i
}

// call calls a method of a generated type and returns its first result. Arguments
// are converted to the parameter types of the method, because enums have their own
// types.
func call(v reflect.Value, name string, args ...any) reflect.Value {
	m := method(v, name)
	in := make([]reflect.Value, len(args))
	for i, arg := range args {
		a, ok := arg.(reflect.Value)
		if !ok {
			a = reflect.ValueOf(arg)
		}
		if want := m.Type().In(i); a.Type() != want {
			a = a.Convert(want)
		}
		in[i] = a
	}
	out := m.Call(in)
	if len(out) == 0 {
		return reflect.Value{}
	}
	return out[0]
}

// renamed maps the names of fields to the names of their getters, for names that have a meaning as
// methods of Go. Generated code renames String for fields of every type, because the method String
// prints a value. It renames the others only for some types.
var renamed = map[string]string{"String": "Str", "Error": "Err", "GoString": "GoStr"}

// method returns a method of a generated type.
func method(v reflect.Value, name string) reflect.Value {
	i := methodIndex(v, name)
	if other := renamed[name]; other != "" && (i < 0 || name == "String") {
		i = methodIndex(v, other)
	}
	if i < 0 {
		panic(fmt.Sprintf("steftest: %s has no method %s, so it was not generated from this schema", v.Type(), name))
	}
	return v.Method(i)
}

// length returns the number of elements or pairs.
func length(v reflect.Value) int { return int(call(v, "Len").Int()) }

// exported returns the name of a field as generated code spells it.
func exported(name string) string {
	if 'A' <= name[0] && name[0] <= 'Z' {
		return name
	}
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// shared reports whether t is a dictionary struct. Records with the same value hold
// pointers to one shared value.
func shared(t *schema.Type) bool { return t.Kind == schema.KindStruct && t.Struct.Dict != "" }
