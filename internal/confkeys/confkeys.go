// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package confkeys reports keys of a configuration that do not exist, and suggests
// the keys that may have been meant. It also holds the checks of values that several
// components share, and the explanation of errors of a storage.
package confkeys

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Section is a part of a configuration whose keys are the fields of a struct.
// Unknown keys of all other parts are found when the configuration is unmarshaled.
type Section struct {
	path string
	keys []string
	typ  reflect.Type
}

// Of returns the section at a path, such as "limits" or "stef::mode"; "" is the
// whole configuration. T is the struct into which the section is read.
func Of[T any](path string) Section {
	t := reflect.TypeFor[T]()
	return Section{path: path, keys: sectionKeys(t), typ: t}
}

// Keys are the keys of a component.
type Keys struct {
	// Sections are the parts of the configuration. One of them must be the whole
	// configuration.
	Sections []Section
	// Hints maps the paths of likely mistakes to advice on what to write instead. If a section has
	// no key enabled, the hint for SECTION::enabled is added to the error when the section itself
	// is set to true or false. The hint for a key of Choices is added to the error about an invalid
	// text.
	Hints map[string]string
	// Choices maps the paths of keys to the texts that are valid there, such as "a, b or c".
	Choices map[string]string
}

// Read calls unmarshal, which reads a configuration. It returns all mistakes in the keys
// and values of the configuration, with what to write instead.
func (k *Keys) Read(conf map[string]any, unmarshal func() error) error {
	err := check(conf, k.Hints, k.Choices, k.Sections...)
	if err == nil {
		if err = unmarshal(); err == nil {
			return nil
		}
		return explain(err, conf, k.Hints, k.Choices, k.Sections...)
	}
	// explain also finds mistakes in other sections. It may repeat a mistake that err already has,
	// with other advice after the colon. So compare only the texts before the colon, and omit
	// repeated mistakes.
	lines := strings.Split(err.Error(), "\n")
	for line := range strings.SplitSeq(explain(err, conf, k.Hints, k.Choices, k.Sections...).Error(), "\n") {
		what, _, _ := strings.Cut(line, ": ")
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, what+": ") }) {
			lines = append(lines, line)
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// check returns an error for every unknown key, for every key of choices whose value is not
// text, for the numbers that the functions durations and fractions refuse, and for missing numbers.
func check(conf map[string]any, hints, choices map[string]string, sections ...Section) error {
	return errors.Join(slices.Concat(unknown(conf, hints, sections), notText(conf, choices), durations(conf, sections), fractions(conf, sections), missing(conf, sections))...)
}

// unknown returns an error for every key that is in a section but not in its struct.
func unknown(conf map[string]any, hints map[string]string, sections []Section) []error {
	var errs []error
	for _, section := range sections {
		values, ok := sub(conf, section.path)
		if !ok {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if slices.Contains(section.keys, key) {
				continue
			}
			errs = append(errs, unknownKey(hints, sections, section, key))
		}
	}
	return errs
}

func sub(conf map[string]any, path string) (map[string]any, bool) {
	if path == "" {
		return conf, true
	}
	for name := range strings.SplitSeq(path, "::") {
		next, ok := conf[name].(map[string]any)
		if !ok {
			return nil, false
		}
		conf = next
	}
	return conf, true
}

func unknownKey(hints map[string]string, sections []Section, in Section, key string) error {
	path, keys := in.path, in.keys
	at := join(path, key)
	if hint := hints[at]; hint != "" {
		return fmt.Errorf("unknown key %q: %s", at, hint)
	}
	if at == "enabled" {
		return errors.New(`unknown key "enabled": to turn the component off, remove it from the lists under service`)
	}
	if nested := strings.ReplaceAll(at, ".", "::"); nested != at && known(sections, nested) {
		return fmt.Errorf("unknown key %q: write it as %q", at, nested)
	}
	below, all := elsewhere(sections, path, key)
	if len(below) > 0 {
		return fmt.Errorf("unknown key %q: write it as %s", at, either(below))
	}
	for _, section := range sections {
		if section.path != path && key != "enabled" && slices.Contains(section.keys, key) {
			return fmt.Errorf("unknown key %q: write it as %q", at, join(section.path, key))
		}
	}
	if near := similar(keys, key); len(near) > 0 {
		for i := range near {
			near[i] = join(path, near[i])
		}
		return fmt.Errorf("unknown key %q: did you mean %s?", at, either(near))
	}
	if len(all) > 0 {
		return fmt.Errorf("unknown key %q: write it as %s", at, either(all))
	}
	where := "at the top level"
	if path != "" {
		where = "in " + path
	}
	return fmt.Errorf("unknown key %q: remove it, or write one of the keys %s: %s", at, where, strings.Join(keys, ", "))
}

// maxAlternatives is the largest number of keys that a message suggests.
const maxAlternatives = 2

// elsewhere returns the paths of the keys with the given name in other sections. below has the
// paths in the sections below path; it is empty if path is the top level. all has the paths in all
// sections. A list that would have more than maxAlternatives paths is nil. Both lists are nil for
// the key enabled, because its meaning differs between sections.
func elsewhere(sections []Section, path, key string) (below, all []string) {
	visitSections("", rootOf(sections), func(section string, keys []string) {
		if section == path || key == "enabled" || !slices.Contains(keys, key) {
			return
		}
		all = append(all, join(section, key))
		if path != "" && strings.HasPrefix(section, path+"::") {
			below = append(below, join(section, key))
		}
	})
	return few(below), few(all)
}

func few(keys []string) []string {
	if len(keys) > maxAlternatives {
		return nil
	}
	return keys
}

// either returns the keys as text, each in quotes, with the word "or" between them.
func either(keys []string) string {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = strconv.Quote(key)
	}
	return strings.Join(quoted, " or ")
}

// similar returns the key that Nearest finds. If Nearest finds none, similar returns the keys that
// begin with key, or nil if key has only one letter or there are too many. If the shortest of
// these keys is a prefix of all the other keys, similar returns only the shortest key.
func similar(keys []string, key string) []string {
	if near := Nearest(keys, key); near != "" {
		return []string{near}
	}
	var begin []string
	for _, k := range keys {
		if strings.HasPrefix(k, key) {
			begin = append(begin, k)
		}
	}
	if len(begin) == 0 || len(key) < 2 {
		return nil
	}
	shortest := slices.MinFunc(begin, func(a, b string) int { return len(a) - len(b) })
	if !slices.ContainsFunc(begin, func(k string) bool { return !strings.HasPrefix(k, shortest) }) {
		return []string{shortest}
	}
	return few(begin)
}

func known(sections []Section, path string) bool {
	section, key := split(path)
	return slices.ContainsFunc(sections, func(s Section) bool {
		return s.path == section && slices.Contains(s.keys, key)
	})
}

// notText returns an error for every key of choices whose value is not text.
func notText(conf map[string]any, choices map[string]string) []error {
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(choices)) {
		section, key := split(path)
		values, _ := sub(conf, section)
		switch value := values[key].(type) {
		case nil, string:
		case map[string]any, []any:
			found := "has several values"
			if reflect.ValueOf(value).Len() == 0 {
				found = "has no value"
			}
			errs = append(errs, fmt.Errorf("%s %s: set it to %s", path, found, choices[path]))
		default:
			errs = append(errs, fmt.Errorf("%s is %v: set it to %s", path, value, choices[path]))
		}
	}
	return errs
}

// split returns the section of a key's path, and the key.
func split(path string) (section, key string) {
	if i := strings.LastIndex(path, "::"); i >= 0 {
		return path[:i], path[i+len("::"):]
	}
	return "", path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "::" + key
}

// Nearest returns the only element of keys that begins with key, if key has at least three letters.
// If there is none, it returns the most similar element, or "" if more than a third of the letters
// differ. One letter may always differ.
func Nearest(keys []string, key string) string {
	begins := func(k string) bool { return strings.HasPrefix(k, key) }
	if i := slices.IndexFunc(keys, begins); len(key) > 2 && i >= 0 && !slices.ContainsFunc(keys[i+1:], begins) {
		return keys[i]
	}
	best, distance := "", max(1, len(key)/3)+1
	for _, k := range keys {
		if d := edits(key, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits returns the Levenshtein distance, in which two neighbouring letters that are
// swapped count as one edit.
func edits(a, b string) int {
	row, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := last // the row before the last row
		last = slices.Clone(row)
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
