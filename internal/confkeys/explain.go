// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package confkeys

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// explain returns one line for each mistake in a configuration that could not be read, with
// what to write instead. If it finds no mistake, it returns err. It also checks the sections of
// the Collector's own libraries, because the errors of these libraries name neither the path nor
// the valid keys.
func explain(err error, conf map[string]any, hints, choices map[string]string, sections ...Section) error {
	var errs []error
	walk("", rootOf(sections), conf, func(f entry) {
		f.err = err.Error()
		if e := f.mistake(hints, choices, sections); e != nil {
			errs = append(errs, e)
		}
	})
	if len(errs) == 0 {
		return err
	}
	return errors.Join(errs...)
}

// durations returns an error for every text that is not a valid duration, and for every
// positive number below 1,000,000,000. The Collector reads such a number as nanoseconds, but
// most likely its unit is missing. It cuts a number such as 0.5 to 0, which often means no limit.
func durations(conf map[string]any, sections []Section) []error {
	var errs []error
	walk("", rootOf(sections), conf, func(f entry) {
		if f.typ != reflect.TypeFor[time.Duration]() {
			return
		}
		switch value := reflect.ValueOf(f.value); {
		case !value.IsValid() || value.Type() == f.typ:
			// Already a time.Duration: its configuration was marshaled from a struct, so no unit is missing.
		case value.Kind() == reflect.String:
			if _, err := time.ParseDuration(value.String()); err != nil {
				errs = append(errs, fmt.Errorf("%s is %q: write numbers with units and without spaces, such as 15s or 1m30s", f.path, f.value))
			}
		case value.CanFloat() && !(math.Abs(value.Float()) < 1<<63): // also NaN and infinity
			errs = append(errs, fmt.Errorf("%s is %v: write numbers with units and without spaces, such as 15s or 1m30s", f.path, f.value))
		case value.CanFloat() && value.Float() != 0 && math.Abs(value.Float()) < float64(time.Second):
			number := strconv.FormatFloat(value.Float(), 'f', -1, 64) // durations have no exponents
			errs = append(errs, fmt.Errorf("%s is %v without a unit: write %ss or %sms", f.path, f.value, number, number))
		case value.CanInt() && value.Int() > 0 && value.Int() < int64(time.Second):
			errs = append(errs, withoutUnit(f.path, value.Int()))
		}
	})
	return errs
}

// fractions returns an error for every number that is not whole, in the place of a whole number. The
// Collector would cut the digits after the point.
func fractions(conf map[string]any, sections []Section) []error {
	var errs []error
	walk("", rootOf(sections), conf, func(f entry) {
		value := reflect.ValueOf(f.value)
		if f.typ == nil || f.typ.Kind() < reflect.Int || f.typ.Kind() > reflect.Uint64 || f.typ == reflect.TypeFor[time.Duration]() || !value.CanFloat() {
			return
		}
		switch v := value.Float(); {
		case v != math.Trunc(v): // also NaN
			errs = append(errs, fmt.Errorf("%s is %v: set it to a whole number", f.path, f.value))
		case math.Abs(v) >= 1<<53: // YAML reads whole numbers beyond int64 as floating-point numbers
			errs = append(errs, fmt.Errorf("%s is %v, which is out of range", f.path, f.value))
		}
	})
	return errs
}

// missing returns an error for every duration or number without a value, as in the line
// "idle_timeout:". The Collector would read it as 0, which often means no limit. An environment
// variable that is not set has the same effect.
func missing(conf map[string]any, sections []Section) []error {
	var errs []error
	walk("", rootOf(sections), conf, func(f entry) {
		if f.value == nil && f.typ != nil && f.typ.Kind() >= reflect.Int && f.typ.Kind() <= reflect.Float64 {
			errs = append(errs, fmt.Errorf("%s has no value: set it, or remove it to use the default", f.path))
		}
	})
	return errs
}

type entry struct {
	path  string
	typ   reflect.Type // nil for a key that does not exist
	value any
	in    string // path of the section
	keys  []string
	err   string // the error of reading the configuration
}

func (f *entry) mistake(hints, choices map[string]string, sections []Section) error {
	if f.typ == nil {
		return unknownKey(hints, sections, Section{path: f.in, keys: f.keys}, strings.TrimPrefix(f.path, f.in+"::"))
	}
	if f.value == nil {
		return nil
	}
	if text, ok := f.value.(string); ok && text != "" && choices[f.path] != "" && !slices.Contains(words(choices[f.path]), text) {
		return fmt.Errorf("%s is %q: set it to %s%s", f.path, text, choices[f.path], advice(hints[f.path]))
	}
	if keys := sectionKeys(f.typ); keys != nil {
		return f.notSection(keys, hints)
	}
	if isExtension(f.typ) {
		return f.notExtension()
	}
	value := reflect.ValueOf(f.value)
	if err := f.notTexts(); err != nil {
		return err
	}
	switch kind := f.typ.Kind(); {
	case kind == reflect.Bool && value.Kind() != reflect.Bool:
		return fmt.Errorf("%s is %v: set it to true or false", f.path, f.value)
	case kind >= reflect.Int && kind <= reflect.Uint64 && f.typ != reflect.TypeFor[time.Duration]() && !isText(f.typ):
		return f.notNumber(value, hints)
	case f.typ == reflect.TypeFor[time.Duration]() && (value.Kind() == reflect.Bool || value.Kind() == reflect.Slice):
		return fmt.Errorf("%s is %v: write numbers with units and without spaces, such as 15s or 1m30s", f.path, f.value)
	case kind == reflect.String && (value.Kind() == reflect.Slice || value.Kind() == reflect.Map):
		return fmt.Errorf("%s has several values: set it to one text", f.path)
	case (kind == reflect.Map || pairs(f.typ)) && value.Kind() != reflect.Map && value.Kind() != reflect.Slice:
		return fmt.Errorf("%s is %v: write one name and its value on each line below it, such as name: value", f.path, f.value)
	case pairs(f.typ) && value.Kind() == reflect.Slice && !arePairs(value):
		return fmt.Errorf("%s is a list: write name: value pairs, such as {tenant: a}", f.path)
	case kind == reflect.String && (value.CanInt() || value.CanFloat() || value.Kind() == reflect.Bool):
		if value.CanInt() && (f.path == "endpoint" || strings.HasSuffix(f.path, "::endpoint")) {
			return fmt.Errorf("%s is %v: set it to host:port, such as localhost:%v", f.path, f.value, f.value)
		}
		return fmt.Errorf("%s is %v: set it to a text, in quotation marks if it looks like a number", f.path, f.value)
	}
	return nil
}

// notNumber returns an error if the value is not a whole number.
func (f *entry) notNumber(value reflect.Value, hints map[string]string) error {
	switch {
	case value.Kind() == reflect.String:
		if _, err := strconv.ParseInt(value.String(), 0, 64); err == nil {
			return fmt.Errorf("%s is %q: write it without quotation marks", f.path, f.value)
		}
		return fmt.Errorf("%s is %q: set it to a whole number%s", f.path, f.value, withoutSizeUnit(f.path, value.String())+advice(hints[f.path]))
	case value.Kind() == reflect.Bool || value.Kind() == reflect.Slice || value.Kind() == reflect.Map:
		return fmt.Errorf("%s is %v: set it to a whole number%s", f.path, f.value, advice(hints[f.path]))
	case f.typ.Kind() >= reflect.Uint && value.CanInt() && value.Int() < 0:
		return fmt.Errorf("%s is %v: set it to at least 0%s", f.path, f.value, advice(hints[f.path]))
	}
	return nil
}

// isText reports whether values of a type may be written as a text.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// notTexts returns an error for an element that must be a text and is a number, or true or false. It
// checks lists of texts, and the values of pairs such as headers. These values can be secrets, so the
// error does not repeat them. A number from an environment variable is a valid text, so each element must
// also be in the error of reading the configuration.
func (f *entry) notTexts() error {
	check := func(path, end string, value any) error {
		if !strings.Contains(f.err, end+"' expected type") {
			return nil
		}
		what := "a number"
		switch v := reflect.ValueOf(value); {
		case v.Kind() == reflect.Bool:
			what = "true or false"
		case !v.CanInt() && !v.CanUint() && !v.CanFloat():
			return nil
		}
		return fmt.Errorf("%s is %s: write it in quotation marks", path, what)
	}
	var errs []error
	switch values := f.value.(type) {
	case map[string]any:
		if !pairs(f.typ) && (f.typ.Kind() != reflect.Map || f.typ.Elem().Kind() != reflect.String) {
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			errs = append(errs, check(join(f.path, key), "["+key+"]", values[key]))
		}
	case []any:
		for i, value := range values {
			index := fmt.Sprintf("[%d]", i)
			path := f.path + index
			if pair, ok := value.(map[string]any); ok && pairs(f.typ) {
				errs = append(errs, check(join(path, "value"), index+".value", pair["value"]))
			} else if f.typ.Kind() == reflect.Slice && f.typ.Elem().Kind() == reflect.String {
				errs = append(errs, check(path, f.path[strings.LastIndexByte(f.path, ':')+1:]+index, value))
			}
		}
	}
	return errors.Join(errs...)
}

// pairs reports whether the elements of a list have a name and a value. Such a list is
// written as a map, for example the headers of the Collector's clients.
func pairs(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && t.Elem().NumField() >= 2 &&
		t.Elem().Field(0).Type.Kind() == reflect.String && t.Elem().Field(1).Type.Kind() == reflect.String
}

// arePairs reports whether all values of a list are sections with a name and a value.
func arePairs(list reflect.Value) bool {
	for i := range list.Len() {
		section, ok := list.Index(i).Interface().(map[string]any)
		if !ok {
			return false
		}
		for key := range section {
			if key != "name" && key != "value" {
				return false
			}
		}
	}
	return true
}

// isExtension reports whether t is the type of the name of an extension, or a pointer to this
// type: ID of the Collector's package component, which this package does not import.
func isExtension(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name() == "ID" && strings.HasSuffix(t.PkgPath(), "/component")
}

// notExtension returns an error if the value is not a text, or is a path: then it is not the name
// of an extension.
func (f *entry) notExtension() error {
	text, ok := f.value.(string)
	if ok && !strings.HasPrefix(text, "/") { // a path has no type before the slash
		return nil
	}
	what := "is a section"
	if _, ok := f.value.(map[string]any); !ok {
		what = fmt.Sprintf("is %v", f.value)
	}
	if strings.HasSuffix(f.path, "storage") {
		return fmt.Errorf("%s %s: write the name of an extension, such as file_storage; set its directory under extensions", f.path, what)
	}
	return fmt.Errorf("%s %s: write the name of an extension, and configure it under extensions", f.path, what)
}

// notSection returns an error for a single value in the place of a section.
func (f *entry) notSection(keys []string, hints map[string]string) error {
	switch f.value.(type) {
	case map[string]any:
		return nil
	case bool:
		if slices.Contains(keys, "enabled") {
			return fmt.Errorf("%s is %v: write %s::enabled: %v", f.path, f.value, f.path, f.value)
		}
		if hint := hints[join(f.path, "enabled")]; hint != "" {
			return fmt.Errorf("%s is %v: %s", f.path, f.value, hint)
		}
	case string:
		if isText(f.typ) {
			return nil
		}
	}
	return fmt.Errorf("%s is %v, but must be a section with one or more of the keys %s", f.path, f.value, strings.Join(keys, ", "))
}

// walk visits every key of a section and of the sections below it. Each entry has the Go type
// of its key.
func walk(path string, t reflect.Type, conf map[string]any, visit func(entry)) {
	fields := fieldsOf(t)
	keys := slices.Sorted(maps.Keys(fields))
	for _, key := range slices.Sorted(maps.Keys(conf)) {
		f := entry{path: join(path, key), typ: fields[key], value: conf[key], in: path, keys: keys}
		visit(f)
		inner, ok := f.value.(map[string]any)
		if ok && f.typ != nil && sectionKeys(f.typ) != nil {
			walk(f.path, f.typ, inner, visit)
		}
	}
}

// words splits choices, such as "a, b or c", into its words.
func words(choices string) []string {
	return strings.Split(strings.ReplaceAll(choices, " or ", ", "), ", ")
}

// maxDepth bounds the sections within sections, since a type may contain itself.
const maxDepth = 6

// visitSections visits every section of a configuration, with its keys.
func visitSections(path string, t reflect.Type, visit func(path string, keys []string)) {
	if strings.Count(path, "::") >= maxDepth {
		return
	}
	fields := fieldsOf(t)
	keys := slices.Sorted(maps.Keys(fields))
	visit(path, keys)
	for _, key := range keys {
		if sectionKeys(fields[key]) != nil {
			visitSections(join(path, key), fields[key], visit)
		}
	}
}

func rootOf(sections []Section) reflect.Type {
	i := slices.IndexFunc(sections, func(s Section) bool { return s.path == "" })
	return sections[i].typ
}

// sectionKeys returns the keys of a type that is a section, and nil for other types.
func sectionKeys(t reflect.Type) []string { return slices.Sorted(maps.Keys(fieldsOf(t))) }

// fieldsOf returns the keys of a section with their types. The Collector's optional
// sections have the key enabled.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	// The type Optional of the Collector's package configoptional has this method. This
	// package does not import configoptional.
	if get, ok := reflect.PointerTo(t).MethodByName("GetOrInsertDefault"); ok && get.Type.NumOut() == 1 {
		fields := fieldsOf(get.Type.Out(0))
		if fields != nil {
			fields["enabled"] = reflect.TypeFor[bool]()
		}
		return fields
	}
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		switch {
		case options == "squash":
			maps.Copy(fields, fieldsOf(field.Type))
		case name != "" && name != "-":
			fields[name] = field.Type
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}
