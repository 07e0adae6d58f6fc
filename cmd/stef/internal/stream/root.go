// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/otelstef/stef/internal/otlpfile"
	spec "github.com/otelstef/stef/stef-spec"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// Root is a kind of record.
type Root struct {
	// Name is the name in commands: metrics, spans or logs. For a root of
	// another schema it is the name of the root struct.
	Name string
	// Struct is the root struct.
	Struct *schema.Struct
	// Wire is the root struct with the fields that only streams in the compact
	// form have. For a root of another schema it is equal to Struct.
	Wire *schema.Struct
	// Base is the schema assumed when a stream announces none: the published
	// schema if there is one.
	Base schema.WireSchema
	// Published says which fields are in the published schema, which the
	// reference implementation uses. It is nil for a root without a published schema.
	Published schema.Kept
	// Signal is the telemetry in the records, SignalUnknown for the records of
	// another schema.
	Signal otlpfile.Signal

	// File is the base name of the schema file of the user. It is empty for the roots
	// of OpenTelemetry.
	File string

	limits Limits

	meanings map[string]string // explanations of columns, by the path of the column
}

// Meaning explains a column that only streams in the compact form have. It returns "" for
// other columns, which contain the field of the same name.
func (r *Root) Meaning(path string) string { return r.meanings[path] }

// explain stores the first sentence of the comment of each field of the compact form, by the path
// of its column. path is the column of the struct that contains the fields.
func (r *Root) explain(path string, fields []*schema.Field) {
	for _, f := range fields {
		column := path + "." + f.Name
		sentence, _, _ := strings.Cut(strings.Join(strings.Fields(f.Doc), " "), ". ")
		r.meanings[column] = strings.TrimSuffix(sentence, ".")
		switch f.Type.Kind {
		case schema.KindArray:
			r.meanings[column+"[]"] = r.meanings[column]
		case schema.KindStruct:
			r.explain(column, f.Type.Struct.Fields)
		}
	}
}

// Limits bound what is read. A field that is 0 means its default.
type Limits struct {
	// MemoryBytes bounds the memory of a record, and the memory of all dictionaries
	// together.
	MemoryBytes int
	// Depth bounds how deep values are nested.
	Depth int
}

// DefaultLimits are the limits of a root that WithLimits did not change.
var DefaultLimits = Limits{MemoryBytes: dynamic.DefaultMaxRecordBytes, Depth: dynamic.MaxDepth}

// WithLimits returns the roots with other limits.
func (roots List) WithLimits(l Limits) List {
	var list List
	for _, r := range roots {
		limited := *r
		limited.limits = l
		list = append(list, &limited)
	}
	return list
}

// List is the possible roots of a stream.
type List []*Root

// Load returns the roots of a user's schema.
func Load(name string, text []byte) (List, error) {
	s, err := idl.Parse(name, text)
	if err != nil {
		return nil, err
	}
	var list List
	for _, r := range s.Roots() {
		list = append(list, &Root{Name: r.Name, Struct: r, Wire: r, Base: schema.WireOf(r), File: filepath.Base(name)})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no struct is marked root", name)
	}
	return list, nil
}

// Roots returns the roots of OpenTelemetry, always in the same order.
func Roots() List { return roots() }

var roots = sync.OnceValue(func() List {
	s, err := idl.Parse("otel.stef", []byte(spec.OTelSchema))
	if err != nil {
		panic(err) // the schema is part of the program
	}
	list := List{
		{Name: "metrics", Struct: s.Root(otelstef.MetricsRootName), Base: otelstef.MetricsBaseSchema(), Signal: otlpfile.Metrics},
		{Name: "spans", Struct: s.Root(otelstef.SpansRootName), Base: otelstef.SpansBaseSchema(), Signal: otlpfile.Traces},
		{Name: "logs", Struct: s.Root(otelstef.LogsRootName), Base: otelstef.LogsBaseSchema(), Signal: otlpfile.Logs},
	}
	list[0].Wire = otelstef.MetricsCompactRoot()
	list[1].Wire = otelstef.SpansCompactRoot()
	list[2].Wire = otelstef.LogsCompactRoot()
	form, err := idl.Parse("compact.stef", []byte(spec.CompactSchema))
	if err != nil {
		panic(err)
	}
	for _, r := range list {
		r.meanings = map[string]string{}
		r.explain(r.Struct.Name, form.Root(r.Struct.Name).Fields)
	}
	for _, s := range form.Structs {
		switch s.Name {
		case "Point":
			list[0].explain("Metrics.Point", s.Fields)
		case "LogRecord":
			list[2].explain("Logs.Record", s.Fields)
		}
	}
	for _, r := range list[:2] {
		if r.Published, err = schema.Keep(r.Struct, r.Base); err != nil {
			panic(err)
		}
	}
	return list
})

// ErrName is the error of an unknown root name.
var ErrName = errors.New("no such root")

// ParseRoot returns the OpenTelemetry root with a name.
func ParseRoot(name string) (*Root, error) { return Roots().Parse(name) }

// Parse returns the root with a name; case is ignored. The name of a signal
// also selects its root, so traces means spans.
func (roots List) Parse(name string) (*Root, error) {
	for _, r := range roots {
		if strings.EqualFold(name, r.Name) || r.Signal != otlpfile.SignalUnknown && name == r.Signal.String() {
			return r, nil
		}
	}
	if len(roots) == 1 {
		return nil, fmt.Errorf("%w: %q; there is only %s", ErrName, name, roots.Names())
	}
	return nil, fmt.Errorf("%w: %q; there are %s", ErrName, name, roots.Names())
}

// RootOf returns the root of a signal.
func RootOf(s otlpfile.Signal) *Root {
	for _, r := range Roots() {
		if r.Signal == s {
			return r
		}
	}
	return nil
}

// Names lists the names of the roots.
func (roots List) Names() string { return roots.joined(", ") }

func (roots List) joined(separator string) string {
	var names []string
	for _, r := range roots {
		names = append(names, r.Name)
	}
	return strings.Join(names, separator)
}

// Records reads the records of a stream.
func (r *Root) Records(src io.Reader, opts ...dynamic.ReaderOption) (*dynamic.Reader, error) {
	return dynamic.NewReader(src, r.Wire, append(opts, r.ReaderOptions()...)...)
}

// ReaderOptions are the options that a reader of the records needs.
func (r *Root) ReaderOptions() []dynamic.ReaderOption {
	l := r.limit()
	return []dynamic.ReaderOption{dynamic.WithAssumedSchema(r.Base), dynamic.WithMaxRecordBytes(l.MemoryBytes),
		dynamic.WithMaxDictBytes(l.MemoryBytes), dynamic.WithMaxDepth(l.Depth)}
}

// limit returns the limits, or their defaults.
func (r *Root) limit() Limits {
	return Limits{cmp.Or(r.limits.MemoryBytes, DefaultLimits.MemoryBytes), cmp.Or(r.limits.Depth, DefaultLimits.Depth)}
}

// Head reads the headers of a stream, whatever its records are, and returns a reader of
// the whole stream that replaces src. The headers are nil if they are damaged; reading
// the stream reports the error.
func Head(src io.Reader) (*dynamic.Header, io.Reader) {
	var seen bytes.Buffer
	h, err := dynamic.ReadHeader(io.TeeReader(src, &seen))
	all := io.MultiReader(&seen, src)
	if err != nil {
		return nil, all
	}
	return h, all
}
