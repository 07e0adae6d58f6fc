// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/otelstef/stef/internal/confkeys"
)

// known has the large real sets that the published tables contain. They are not in the
// repository.
var known = map[string][]string{
	"metrics": {"hipstershop", "hostandcollector"},
	"traces":  {"hipstershop"},
	"logs":    {"astronomy", "cloudtrail", "k8sapps", "kafka", "webnodes"},
}

// Own reports whether the user provided a set: it is in STEF_DATA, but not in known.
func (r Ref) Own() bool { return !r.Bundled && !slices.Contains(known[r.Signal.String()], r.Name) }

// choice is the selection of a -bench flag among benchmarks that are named
// Name/set=NAME/signal=SIGNAL/... A flag without set= selects all sets.
type choice struct{ bench, set, signal string }

func choiceOf(bench string) choice {
	elements := append(strings.Split(bench, "/"), "", "")
	c := choice{bench: elements[0]}
	for _, e := range elements[1:] {
		switch {
		case strings.Contains(e, "set="):
			c.set = e
		case strings.Contains(e, "signal="):
			c.signal = e
		}
	}
	return c
}

// of returns the selected sets, or all sets if the flag selects neither a set nor a signal.
func (c choice) of(refs []Ref) []Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(r Ref) bool {
		return !matches(c.set, "set="+r.Name) || !matches(c.signal, "signal="+r.Signal.String())
	})
}

// matches reports whether an element of a -bench flag matches an element of a name. The testing
// package reports expressions that do not compile.
func matches(element, name string) bool {
	re, err := regexp.Compile(element)
	return err != nil || re.MatchString(name)
}

// problem says why a -bench flag runs nothing, or returns "".
func (c choice) problem(bench string, refs []Ref, benchmarks []string) string {
	if (c.set != "" || c.signal != "") && len(c.of(refs)) == 0 {
		return fmt.Sprintf("-bench %s matches no set.%s Names have this form: Pair/set=node/signal=metrics", bench, c.hint(refs))
	}
	if len(benchmarks) == 0 || slices.ContainsFunc(benchmarks, func(name string) bool { return matches(c.bench, name) }) {
		return ""
	}
	for i, name := range benchmarks {
		benchmarks[i] = strings.TrimPrefix(name, "Benchmark")
	}
	text := fmt.Sprintf("-bench %s matches no benchmark of this package", bench)
	if near := nearest(benchmarks, strings.TrimPrefix(strings.Trim(c.bench, "^$"), "Benchmark")); near != "" {
		text += fmt.Sprintf(": did you mean %s?", near)
	} else {
		text += "."
	}
	return text + " The benchmarks are " + strings.Join(benchmarks, ", ")
}

// hint suggests names for a set that does not exist.
func (c choice) hint(refs []Ref) string {
	name := strings.Trim(strings.TrimPrefix(strings.Trim(c.set, "^$"), "set="), "^$")
	if name == "" {
		return ""
	}
	var names []string
	for _, r := range refs {
		names = append(names, r.Name)
	}
	if slices.Contains(names, name) {
		return fmt.Sprintf(" There is no set of %s with %s.", name, c.signal)
	}
	for _, large := range known {
		if slices.Contains(large, name) {
			return fmt.Sprintf(" %s is not found: it is not in the repository (STEF_DATA names the folder of such sets).", name)
		}
	}
	if near := nearest(names, name); near != "" {
		return fmt.Sprintf(" There is no set %s: did you mean %s?", name, near)
	}
	slices.Sort(names)
	return fmt.Sprintf(" There is no set %s; the sets are %s.", name, strings.Join(slices.Compact(names), ", "))
}

// nearest returns the name that the user probably meant: a name with the same letters in another
// order, or a name that differs in few letters. It returns "" if there is no such name.
func nearest(names []string, name string) string {
	letters := func(s string) string {
		b := []byte(strings.ToLower(s))
		slices.Sort(b)
		return string(b)
	}
	for _, n := range names {
		if letters(n) == letters(name) {
			return n
		}
	}
	return confkeys.Nearest(names, name)
}

// benchmarksOf returns the names of the benchmarks of a test program, which package testing
// does not export. It returns none if the layout of testing.M is unknown.
func benchmarksOf(m *testing.M) []string {
	field := reflect.ValueOf(m).Elem().FieldByName("benchmarks")
	if field.Kind() != reflect.Slice {
		return nil
	}
	var names []string
	for i := range field.Len() {
		if e := field.Index(i); e.Kind() == reflect.Struct && e.NumField() > 0 && e.Field(0).Kind() == reflect.String {
			names = append(names, e.Field(0).String())
		}
	}
	return names
}
