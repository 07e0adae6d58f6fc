// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"fmt"
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

func wireLiteral(w schema.WireSchema) string {
	var parts []string
	for _, n := range w {
		parts = append(parts, fmt.Sprint(n))
	}
	return "schema.WireSchema{" + strings.Join(parts, ", ") + "}"
}

// hasForm reports whether the records of a root have a compact form.
func (p *plan) hasForm(r *schema.Struct) bool {
	return p.options.Form != nil && p.options.Form.Root(r.Name) != nil
}

func (p *plan) printWriter(pr *printer, r *schema.Struct) {
	n, lower := r.Name, private(r.Name)
	own := schema.WireOf(r)
	form := p.hasForm(r)
	if form {
		pr.P("// %sCompactSchema returns the wire schema of %s in the compact form, which is the whole", n, n)
		pr.P("// schema of the file.")
		pr.P("func %sCompactSchema() schema.WireSchema {\nreturn %s\n}", n, wireLiteral(own))
		pr.P("")
		own = schema.WireOf(p.plain.Root(n))
	}
	base, ok := p.options.Base[n]
	if !ok {
		base = own
	}
	pr.Decl("// %sRootName is the name of the root struct of %s streams.", n, n)
	pr.P("const %sRootName = %q", n, n)
	pr.Decl("// %sSchema returns the complete wire schema of %s.", n, n)
	pr.P("func %sSchema() schema.WireSchema {\nreturn %s\n}", n, wireLiteral(own))
	pr.Decl("// %sBaseSchema returns the wire schema of streams that announce none.", n)
	pr.P("func %sBaseSchema() schema.WireSchema {\nreturn %s\n}", n, wireLiteral(base))
	pr.Decl("// %sWriter writes a stream of %s records, for one goroutine at a time. It also has", n, n)
	pr.P("// Flush, Close, Stats, BufferedBytes and Schema, of the embedded stefrt.WriteStream:")
	pr.P("// go doc github.com/otelstef/stef/stef-go/stefrt.WriteStream.Flush.")
	pr.P("type %sWriter struct {\nstefrt.WriteStream\nrecord %s\nencoder %sEncoder\nfields %sFields\ndicts %sDicts", n, n, lower, n, n)
	pr.If(form, "form %sWriterForm", lower)
	pr.P("}")
	pr.Decl("// New%sWriter begins a stream; each header and each frame is one Write to w.", n)
	pr.P("func New%sWriter(w io.Writer, options ...stef.WriterOption) (*%sWriter, error) {", n, n)
	pr.P("x := new(%sWriter)", n)
	pr.P("x.record.init(nil, 0)")
	p.printBuild(pr, r, "Encoder")
	pr.If(form, "options = append([]stef.WriterOption{stef.WithSchema(%sSchema())}, options...)", n)
	pr.P("sendAll := func() { x.record.node.SetOversize(true) }")
	pr.P("if err := stefrt.StartWriter(&x.WriteStream, w, %sBaseSchema(), options, build, sendAll); err != nil {\nreturn nil, err\n}", n)
	pr.If(form, "x.form.start(x)")
	pr.P("return x, nil\n}")
	pr.P("")
	p.printContinue(pr, r)
	pr.Decl("// Reset begins another stream with the same options. Records that were not flushed are lost, and")
	pr.P("// the record is empty: set all its fields again, and call its Edit methods again.")
	pr.P("func (w *%sWriter) Reset(dst io.Writer) error {", n)
	pr.P("if err := stefrt.ResetWriter(&w.WriteStream, dst); err != nil {\nreturn err\n}")
	pr.P("w.record.init(nil, 0)\nw.record.clear()")
	pr.If(form, "w.form.reset()")
	pr.P("return nil\n}")
	pr.Decl("// Record returns the record to fill, the same one for the life of the writer.")
	pr.P("// It keeps its contents from one Write to the next; set only what changed.")
	pr.P("func (w *%sWriter) Record() *%s { return &w.record }", n, n)
	pr.Decl("// Fields returns the fields of each type that the schema of the stream has.")
	pr.P("func (w *%sWriter) Fields() %sFields { return w.fields }", n, n)
	pr.Decl("// Dicts returns the dictionaries of text of the stream.")
	pr.P("func (w *%sWriter) Dicts() %sDicts { return w.dicts }", n, n)
	pr.Decl("// Write adds the record to the frame, and ends the frame if it is large enough.")
	pr.P("// A record that exceeds a limit is refused with ErrLimit and not written, and the")
	pr.P("// writer remains usable. After any other error the writer is unusable.")
	pr.P("func (w *%sWriter) Write() error {", n)
	pr.P("if w.record.node.Oversize() {")
	pr.P("if err := stefrt.CheckRecord(&w.WriteStream, &w.record.node, w.record.markAll); err != nil {\nreturn err\n}")
	pr.If(form, "w.form.sendAll()")
	pr.P("}")
	pr.If(form, "if w.form.on {\nw.form.encode(w)\nreturn stefrt.EndRecord(&w.WriteStream)\n}")
	pr.P("w.encoder.Encode(&w.record)")
	pr.P("return stefrt.EndRecord(&w.WriteStream)\n}")
}

// printContinue prints the method ContinueFrom, which copies the record of another writer to the
// writer of a new stream.
func (p *plan) printContinue(pr *printer, r *schema.Struct) {
	pr.P("// ContinueFrom copies the record of previous, another %sWriter or a type that embeds one, to the", r.Name)
	pr.P("// record of w. If fields of w were changed since the last Write of w, these fields keep their values, with")
	pr.P("// all their parts. So a program that sets only what changes can continue in another")
	pr.P("// stream. Both writers must belong to one goroutine. Package rotate calls ContinueFrom for each new file.")
	pr.P("// It does nothing if previous has another type.")
	pr.P("func (w *%sWriter) ContinueFrom(previous any) {", r.Name)
	pr.P("p, ok := previous.(interface{ Record() *%s })\nif !ok {\nreturn\n}", r.Name)
	fields := p.fieldsOf(r)
	if len(fields) == 0 {
		pr.P("_ = p\n}")
		return
	}
	pr.P("s, src := &w.record, p.Record()")
	pr.P("set := s.node.Modified()")
	for _, f := range fields {
		pr.P("if set&%s == 0 {", f.bit)
		p.printCopy(pr, f)
		pr.P("}")
	}
	pr.P("}")
}

// printBuild prints the function build, which registers the encoder or decoder of a root with its
// builder.
func (p *plan) printBuild(pr *printer, r *schema.Struct, role string) {
	x := "x." + private(role)
	pr.P("build := func(b *stefrt.%sBuilder) {", role)
	pr.If(p.cyclic[r.Name], "b.Root(%q, &%s)", r.Name, x)
	pr.P("%s.register(b, %q)", x, r.Name)
	pr.P("x.fields.set(&b.Fields)")
	if role == "Encoder" {
		pr.P("x.dicts.set(b)")
		roots := p.rootsFunc()
		pr.If(roots != "", "b.Roots = %s", roots)
	}
	pr.P("}")
}

// rootsFunc returns the name of the function that returns the schema with all roots, or "" if
// there is only one root.
func (p *plan) rootsFunc() string {
	switch {
	case len(p.schema.Roots()) == 1:
		return ""
	case p.options.Form != nil:
		return "parsedForm"
	}
	return "parsedSchema"
}

func (p *plan) printReader(pr *printer, r *schema.Struct) {
	n, lower := r.Name, private(r.Name)
	pr.Decl("// %sReader reads a stream of %s records, for one goroutine at a time. It also has", n, n)
	pr.P("// Err, Stats, UserData, Schema, BufferedRecords and Close, of the embedded stefrt.ReadStream:")
	pr.P("// go doc github.com/otelstef/stef/stef-go/stefrt.ReadStream.UserData.")
	pr.P("type %sReader struct {\nstefrt.ReadStream\nrecord %s\ndecoder %sDecoder\nfields %sFields", n, n, lower, n)
	form := p.hasForm(r)
	pr.If(form, "form %sReaderForm", lower)
	pr.P("}")
	pr.Decl("// New%sReader reads the headers of a stream from r.", n)
	pr.P("func New%sReader(r io.Reader, options ...stef.ReaderOption) (*%sReader, error) {", n, n)
	pr.P("x := new(%sReader)", n)
	pr.P("x.record.init(nil, 0)")
	pr.P("stefrt.Measure(&x.ReadStream, &x.record)")
	roots := p.rootsFunc()
	pr.If(roots != "", "stefrt.Roots(&x.ReadStream, %s)", roots)
	p.printBuild(pr, r, "Decoder")
	pr.P("if err := stefrt.StartReader(&x.ReadStream, r, %sBaseSchema(), options, build); err != nil {\nreturn nil, err\n}", n)
	pr.If(form, "x.form.start(x)")
	pr.P("return x, nil\n}")
	pr.Decl("// Reset begins to read another stream with the same options and memory.")
	pr.P("func (r *%sReader) Reset(src io.Reader) error {", n)
	pr.P("if err := stefrt.ResetReader(&r.ReadStream, src); err != nil {\nreturn err\n}")
	pr.P("r.record.clear()")
	pr.If(form, "r.form.start(r)")
	pr.P("return nil\n}")
	pr.Decl("// Next reads the next record. It returns false at the end and after an error; see Err.")
	pr.P("func (r *%sReader) Next() bool {", n)
	pr.P("if !stefrt.BeginRead(&r.ReadStream) {\nreturn false\n}")
	pr.If(form, "if r.form.on {\nr.form.decode(r)\nreturn stefrt.EndRead(&r.ReadStream)\n}")
	pr.P("r.decoder.Decode(&r.record)")
	pr.P("return stefrt.EndRead(&r.ReadStream)\n}")
	pr.Decl("// Record returns the record, which is always the same one. Only Next may change it. To keep it, copy")
	pr.P("// it: k := New%s(); k.CopyFrom(r.Record()). A copy by *r.Record() changes with the next record.", n)
	pr.P("func (r *%sReader) Record() *%s { return &r.record }", n, n)
	pr.Decl("// Fields returns the fields of each type that the schema of the stream has.")
	pr.P("func (r *%sReader) Fields() %sFields { return r.fields }", n, n)
	pr.P("")
	if p.cyclic[n] {
		pr.P("// Run returns 0: nested records share the column of the root, so reading ahead is")
		pr.P("// not possible.")
		pr.P("func (r *%sReader) Run(uint64) int { return 0 }", n)
		return
	}
	pr.P("// Run returns how many of the next records do not change fields, which are bits of Modified.")
	if form {
		pr.P("// In the compact form, records do not show whether a field that the form computes changes before")
		pr.P("// they are decoded. If fields has such a field, Run returns 0.")
	}
	pr.P("func (r *%sReader) Run(fields uint64) int {", n)
	pr.If(form, "if r.form.on && fields&r.form.computed() != 0 {\nreturn 0\n}")
	if fields := p.fieldsOf(r); optionalMask(fields) != "0" {
		pr.P("watched := %s", watchedPresence(fields))
		pr.P("return stefrt.RunPresent(&r.ReadStream, &r.decoder.head, fields, r.record.present, watched)\n}")
		return
	}
	pr.P("return stefrt.Run(&r.ReadStream, &r.decoder.head, fields)\n}")
}

// watchedPresence returns the expression of the presence bits of the optional fields in fields.
func watchedPresence(fields []*field) string {
	var terms []string
	for _, f := range fields {
		if f.present != "" {
			terms = append(terms, fmt.Sprintf("stefrt.If(fields&%s != 0, %s)", f.bit, f.present))
		}
	}
	return strings.Join(terms, " |\n")
}
