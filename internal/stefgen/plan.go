// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

// Options configure the generator.
type Options struct {
	// Package is the Go package name; "" selects the last part of the schema's package name.
	Package string
	// Header is the licence text above the code of each file; "" is none.
	Header string
	// Source is the name of the schema file, for the header of the files.
	Source string
	// Base maps the name of a root to the wire schema that readers assume for streams
	// without a wire schema. A root that is not listed uses its full schema.
	Base map[string]schema.WireSchema
	// Form is the compact form of the schema, or nil. It adds fields that programs do not use;
	// writers omit these fields unless an option selects them. The code that converts records
	// to and from the form is written by hand in the same package: for a root Record it is in
	// the types recordWriterForm and recordReaderForm.
	Form *schema.Schema
}

// File is one generated file.
type File struct {
	Name    string
	Content []byte
}

// plan contains what all printing functions need to know about the schema.
type plan struct {
	options Options
	schema  *schema.Schema // the schema with the additions of Form
	plain   *schema.Schema // the schema without the additions of Form
	// The lists have the order in which the types are first reached from the roots.
	structs   []*schema.Struct // structs and oneofs
	multimaps []*schema.Multimap
	enums     []*schema.Enum
	arrays    []*schema.Type // arrays of composite values, one for each element type
	// cyclic has the keys of types that contain themselves.
	cyclic map[string]bool
	// shared has the keys of types that are part of dictionary structs.
	shared map[string]bool
	// absent has the names of structs that a getter may return as nil.
	absent map[string]bool
}

// Check returns the errors with which Generate refuses the schema: joined errors of type *Error.
// It does not find names that clash in the code.
func Check(s *schema.Schema, options Options) error {
	_, err := newPlan(s, options)
	return err
}

func newPlan(s *schema.Schema, options Options) (*plan, error) {
	p := &plan{options: options, schema: s, plain: s, cyclic: map[string]bool{}, shared: map[string]bool{}, absent: map[string]bool{}}
	if options.Form != nil {
		s = schema.Extend(s, options.Form)
		p.schema = s
	}
	if p.options.Package == "" {
		p.options.Package = lastPart(s.Package)
	}
	if len(s.Roots()) == 0 {
		return nil, refuse("", schema.Pos{}, "schema %s has no root struct", s.Package)
	}
	p.visitAll()
	p.findAbsent()
	return p, p.check()
}

// Generate generates the files for a schema.
func Generate(s *schema.Schema, options Options) ([]File, error) {
	p, err := newPlan(s, options)
	if err != nil {
		return nil, err
	}
	var files []File
	// add prints a file, or two files if a single file would be too long.
	add := func(name string, print ...func(*printer)) error {
		made, err := p.print(fileName(name), print)
		if err == nil && len(print) == 2 && bytes.Count(made.Content, []byte{'\n'}) > maxLines {
			var codec File
			if codec, err = p.print(fileName(name+"Codec"), print[1:]); err == nil {
				files = append(files, codec)
				made, err = p.print(fileName(name), print[:1])
			}
		}
		files = append(files, made)
		return err
	}
	// array prints the functions for arrays of a type into the file of the type's codec.
	array := func(pr *printer, name string) {
		for _, t := range p.arrays {
			if t.Elem.Name == name {
				p.printArray(pr, t)
			}
		}
	}
	for _, s := range p.structs {
		record, codec := p.printStruct, p.printStructCodec
		if s.Oneof {
			record, codec = p.printOneof, p.printOneofCodec
		}
		if err := add(s.Name, func(pr *printer) { record(pr, s) }, func(pr *printer) { codec(pr, s); array(pr, s.Name) }); err != nil {
			return nil, err
		}
	}
	for _, m := range p.multimaps {
		record := func(pr *printer) { p.printMultimap(pr, m) }
		if err := add(m.Name, record, func(pr *printer) { p.printMultimapCodec(pr, m); array(pr, m.Name) }); err != nil {
			return nil, err
		}
	}
	for _, e := range p.enums {
		if err := add(e.Name, func(pr *printer) { p.printEnum(pr, e) }); err != nil {
			return nil, err
		}
	}
	for _, r := range p.schema.Roots() {
		for _, part := range []struct {
			name  string
			print func(*printer, *schema.Struct)
		}{{"Fields", p.printFields}, {"Dicts", p.printDicts}, {"Writer", p.printWriter}, {"Reader", p.printReader}} {
			if err := add(r.Name+part.name, func(pr *printer) { part.print(pr, r) }); err != nil {
				return nil, err
			}
		}
	}
	if err := add("schemaText", p.printSchema); err != nil {
		return nil, err
	}
	return files, p.clashes(files)
}

// maxLines is the number of lines above which the encoder and decoder of a type are
// in a file of their own.
const maxLines = 400

func (p *plan) print(name string, parts []func(*printer)) (File, error) {
	var pr printer
	for _, print := range parts {
		print(&pr)
	}
	content, err := pr.File(p.options.Package, p.options.Source, p.options.Header)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	return File{name, content}, nil
}

func lastPart(dotted string) string { return dotted[strings.LastIndexByte(dotted, '.')+1:] }

// key identifies a composite type.
func key(t *schema.Type) string {
	if t.Kind == schema.KindArray {
		return "[]" + t.Elem.Name
	}
	return t.Name
}

// parts returns the types that a composite type directly contains.
func parts(t *schema.Type) []*schema.Type {
	var out []*schema.Type
	switch t.Kind {
	case schema.KindStruct, schema.KindOneof:
		for _, f := range t.Struct.Fields {
			out = append(out, &f.Type)
		}
	case schema.KindMultimap:
		out = append(out, &t.Multimap.Key, &t.Multimap.Value)
	case schema.KindArray:
		out = append(out, t.Elem)
	}
	return out
}

// findAbsent finds the structs that a getter returns as nil if there is no value: the choices
// of oneofs, values of multimaps, lazy fields, and the structs in all of these.
func (p *plan) findAbsent() {
	var visit func(t *schema.Type)
	visit = func(t *schema.Type) {
		if t.Kind != schema.KindStruct || classOf(t) != classNode || p.absent[t.Name] {
			return
		}
		p.absent[t.Name] = true
		for i := range t.Struct.Fields {
			visit(&t.Struct.Fields[i].Type)
		}
	}
	for _, s := range p.structs {
		for _, f := range p.fieldsOf(s) {
			if s.Oneof || f.lazy {
				visit(f.t)
			}
		}
	}
	for _, m := range p.multimaps {
		visit(&m.Value)
	}
}

func (p *plan) visitAll() {
	seen := map[string]bool{}
	var visit func(t *schema.Type)
	visit = func(t *schema.Type) {
		if t.Kind == schema.KindEnum {
			if !seen[t.Name] {
				seen[t.Name] = true
				p.enums = append(p.enums, t.Enum)
			}
			return
		}
		if !t.Kind.Composite() {
			return
		}
		if t.Kind == schema.KindArray && !t.Elem.Kind.Composite() {
			visit(t.Elem)
			return
		}
		if seen[key(t)] {
			return
		}
		seen[key(t)] = true
		switch t.Kind {
		case schema.KindStruct, schema.KindOneof:
			p.structs = append(p.structs, t.Struct)
		case schema.KindMultimap:
			p.multimaps = append(p.multimaps, t.Multimap)
		case schema.KindArray:
			p.arrays = append(p.arrays, t)
		}
		p.cyclic[key(t)] = contains(t, func(part *schema.Type) bool { return key(part) == key(t) }, map[string]bool{})
		for _, part := range parts(t) {
			visit(part)
		}
	}
	for _, r := range p.schema.Roots() {
		visit(structType(r))
	}
	for _, s := range p.structs {
		if s.Dict != "" {
			p.share(structType(s))
		}
	}
}

// contains reports whether a value of t can contain a composite value of a type that is wanted. The
// value of t itself does not count.
func contains(t *schema.Type, wanted func(*schema.Type) bool, seen map[string]bool) bool {
	for _, part := range parts(t) {
		if !part.Kind.Composite() {
			continue
		}
		if wanted(part) {
			return true
		}
		if k := key(part); !seen[k] {
			seen[k] = true
			if contains(part, wanted, seen) {
				return true
			}
		}
	}
	return false
}

func (p *plan) share(t *schema.Type) {
	if !t.Kind.Composite() || p.shared[key(t)] {
		return
	}
	p.shared[key(t)] = true
	for _, part := range parts(t) {
		p.share(part)
	}
}

func isDictStruct(t *schema.Type) bool {
	return t.Kind == schema.KindStruct && t.Struct.Dict != ""
}
