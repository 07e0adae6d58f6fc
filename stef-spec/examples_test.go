// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
	spec "github.com/otelstef/stef/stef-spec"
)

var update = flag.Bool("update", false, "write the bytes of the examples into specification.md; remarks stay")

// TestExamples checks the examples in the specification. The codec writes the same bytes,
// if its options can produce them. The bytes have the structure that the specification
// describes, and the codec reads them.
func TestExamples(t *testing.T) {
	found := blocks("stef-example")
	require.NotEmpty(t, found)
	text := spec.Specification
	names := map[string]bool{}
	// Examples are changed from the last to the first, so that the offsets of the
	// remaining examples stay valid.
	for _, b := range slices.Backward(found) {
		e, err := parseExample(b)
		require.NoError(t, err, "example in line %d", b.line)
		require.False(t, names[e.name], "two examples have the name %q", e.name)
		names[e.name] = true
		t.Run(e.name, func(t *testing.T) {
			parts := e.run(t)
			if *update {
				text = text[:b.start] + e.print(e.carryOver(parts)) + text[b.end:]
				return
			}
			e.compare(t, parts)
			require.Equal(t, e.print(e.carryOver(parts)), b.text(), "-update would change the layout")
		})
	}
	if *update {
		require.NoError(t, os.WriteFile("specification.md", []byte(text), 0o644))
	}
}

// run writes the records of e, splits the stream and reads it back. It returns
// the parts.
func (e *example) run(t *testing.T) []shownPart {
	t.Helper()
	parsed, err := idl.Parse(e.name, []byte(e.schema))
	require.NoError(t, err)
	roots := parsed.Roots()
	root := roots[0]
	if e.root != "" {
		root = parsed.Root(e.root)
	}
	require.NotNil(t, root)
	if _, compact := e.option("compact"); compact {
		return e.runCompact(t, root)
	}
	opts, wire, err := e.writerOptions()
	require.NoError(t, err)
	var read []dynamic.ReaderOption
	if wire == nil {
		wire = schema.WireOf(root)
	} else {
		read = append(read, dynamic.WithAssumedSchema(wire))
	}
	kept, err := schema.Keep(root, wire)
	require.NoError(t, err)

	var stream bytes.Buffer
	w, err := dynamic.NewWriter(&stream, root, opts...)
	require.NoError(t, err)
	records := e.write(t, root, w)
	if e.given() {
		stream = *bytes.NewBuffer(e.stream())
	}
	parts, err := split(stream.Bytes(), schema.Columns(root, kept))
	require.NoError(t, err)

	r, err := dynamic.NewReader(bytes.NewReader(stream.Bytes()), root, read...)
	require.NoError(t, err)
	var lines string
	for i, want := range records {
		require.True(t, r.Next(), "record %d: %v", i+1, r.Err())
		got := r.Record()
		require.True(t, dynamic.Equal(steftest.Cut(root, kept, want), got), "record %d is read as %v", i+1, got)
		lines += string(appendLine(t, nil, root, got))
	}
	require.False(t, r.Next())
	refused, isRefused := e.option("refused")
	if isRefused {
		require.ErrorContains(t, r.Err(), strings.Join(refused, " "))
	} else {
		require.NoError(t, r.Err())
	}
	if spec.OTelSchema == e.schema {
		e.readGenerated(t, root, stream.Bytes(), lines, isRefused)
	}
	return parts
}

// runCompact does the work of run for an example in the compact form. It writes the stream with
// the generated writer.
func (e *example) runCompact(t *testing.T, root *schema.Struct) []shownPart {
	t.Helper()
	i := slices.IndexFunc(compactRoots(t), func(c *compactRoot) bool { return c.name == root.Name })
	c := compactRoots(t)[i]
	record := dynamic.NewStruct(root)
	var recs []any
	var lines string
	ends := map[int]bool{}
	for _, line := range e.records {
		if line == "flush" {
			ends[len(recs)-1] = true
			continue
		}
		var err error
		record, err = parseRecord(root, record, line)
		require.NoError(t, err, line)
		recs = append(recs, c.newRecord(record))
		lines += string(appendLine(t, nil, root, record))
	}
	stream := c.write(t, recs, func(i int) bool { return ends[i] }, c.option)
	require.Equal(t, lines, readByRules(t, c.compact, c.full, stream), "as the rules read it")
	e.readGenerated(t, root, stream, lines, false)
	kept, err := schema.Keep(c.compact, schema.WireOf(c.compact))
	require.NoError(t, err)
	parts, err := split(stream, schema.Columns(c.compact, kept))
	require.NoError(t, err)
	return parts
}

// readGenerated reads the stream with the generated code of the root.
func (e *example) readGenerated(t *testing.T, root *schema.Struct, stream []byte, want string, refused bool) {
	t.Helper()
	var got []byte
	err := vectorRoots[root.Name].read(stream, func(rec any) {
		got = appendLine(t, got, root, steftest.Value(rec, root, nil))
	})
	require.Equal(t, refused, err != nil, "the generated reader ends with %v", err)
	require.Equal(t, want, string(got), "as the generated code reads it")
}

// write writes the records of e and returns them.
func (e *example) write(t *testing.T, root *schema.Struct, w *dynamic.Writer) []*dynamic.Struct {
	t.Helper()
	record := dynamic.NewStruct(root)
	var records []*dynamic.Struct
	for _, line := range e.records {
		if line == "flush" {
			require.NoError(t, w.Flush())
			continue
		}
		var err error
		record, err = parseRecord(root, record, line)
		require.NoError(t, err, line)
		require.NoError(t, w.Write(record), line)
		records = append(records, record)
	}
	require.NoError(t, w.Close())
	return records
}

// TestSelfContained removes the first data frame from streams: the rest is
// readable only if the second frame is self-contained.
func TestSelfContained(t *testing.T) {
	f := func(name string, want bool) {
		t.Helper()
		e := exampleNamed(t, name)
		parsed, err := idl.Parse(name, []byte(e.schema))
		require.NoError(t, err)
		root := parsed.Roots()[0]
		record := dynamic.NewStruct(root)
		for _, line := range e.records {
			if line != "flush" {
				record, err = parseRecord(root, record, line)
				require.NoError(t, err)
			}
		}
		e.shown = slices.DeleteFunc(e.shown, func(p shownPart) bool { return p.frame == 1 })
		r, err := dynamic.NewReader(bytes.NewReader(e.stream()), root)
		require.NoError(t, err)
		require.Equal(t, want, r.Next() && dynamic.Equal(record, r.Record()), name)
	}
	f("self-contained", true)
	f("restart codecs", false)
	f("restart dictionaries", false)
	f("no restart", false)
}

func exampleNamed(t *testing.T, name string) *example {
	t.Helper()
	for _, b := range blocks("stef-example") {
		e, err := parseExample(b)
		require.NoError(t, err)
		if e.name == name {
			return e
		}
	}
	t.Fatalf("there is no example %q", name)
	return nil
}

// given reports whether the writer cannot produce the bytes of e, because it has no option for
// them.
func (e *example) given() bool {
	_, given := e.option("given")
	return given
}

// option returns the words after the name of an option.
func (e *example) option(name string) (words []string, found bool) {
	for _, words := range e.options {
		if words[0] == name {
			return words[1:], true
		}
	}
	return nil, false
}

// stream returns the bytes shown.
func (e *example) stream() []byte {
	var stream []byte
	for _, p := range e.shown {
		if !p.derived {
			stream = append(stream, p.hex...)
		}
	}
	return stream
}

// writerOptions returns the options of e, and the kept fields if the options
// include them.
func (e *example) writerOptions() (opts []dynamic.WriterOption, wire schema.WireSchema, err error) {
	for _, words := range e.options {
		name, args := words[0], words[1:]
		switch {
		case name == "given" && len(args) == 0:
		case name == "refused" && len(args) > 0 && e.given():
		case name == "zstd" && len(args) == 0:
			opts = append(opts, dynamic.WithCompression(dynamic.Zstd))
		case name == "wire-schema" && len(args) == 0:
			opts = append(opts, dynamic.WithSchemaHeader())
		case name == "user-data" && len(args) == 2:
			opts = append(opts, dynamic.WithUserData(map[string]string{args[0]: args[1]}))
		case name == "keep":
			if wire, err = numbers(args); err != nil {
				return nil, nil, err
			}
			opts = append(opts, dynamic.WithSchema(wire), dynamic.WithSchemaHeader())
		case name == "assumed":
			if wire, err = numbers(args); err != nil {
				return nil, nil, err
			}
			opts = append(opts, dynamic.WithSchema(wire))
		case name == "frame-bytes", name == "dict-bytes":
			n, err := numbers(args)
			if err != nil || len(n) != 1 {
				return nil, nil, errors.Join(err, fmt.Errorf("option %q needs one number", name))
			}
			if name == "frame-bytes" {
				opts = append(opts, dynamic.WithFrameBytes(n[0]))
			} else {
				opts = append(opts, dynamic.WithDictBytes(n[0]))
			}
		case name == "restart":
			flags, err := restarts(args)
			if err != nil {
				return nil, nil, err
			}
			opts = append(opts, dynamic.WithRestart(flags))
		default:
			return nil, nil, fmt.Errorf("option %q", words)
		}
	}
	return opts, wire, nil
}

func numbers(args []string) (list schema.WireSchema, err error) {
	for _, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

func restarts(names []string) (flags dynamic.FrameFlags, err error) {
	for _, name := range names {
		switch name {
		case "dictionaries":
			flags |= dynamic.RestartDictionaries
		case "compression":
			flags |= dynamic.RestartCompression
		case "codecs":
			flags |= dynamic.RestartCodecs
		default:
			return 0, fmt.Errorf("restart of %q", name)
		}
	}
	return flags, nil
}

// carryOver copies the remarks of the previously shown parts to the parts with the same label
// in the same frame. It also copies bits that were written by hand. If these bits no longer
// match, the next run reports them.
func (e *example) carryOver(parts []shownPart) []shownPart {
	shown := map[partID]shownPart{}
	for _, p := range e.shown {
		shown[p.partID] = p
	}
	for i := range parts {
		before := shown[parts[i].partID]
		parts[i].notes = before.notes
		if parts[i].bits == nil {
			parts[i].bits = before.bits
		}
	}
	return parts
}

func (e *example) compare(t *testing.T, parts []shownPart) {
	t.Helper()
	const hint = "; go test -update rewrites the bytes"
	require.Len(t, e.shown, len(parts), "the stream has other parts%s", hint)
	for i, want := range parts {
		got := e.shown[i]
		where := fmt.Sprintf("frame %d, %s%s", want.frame, want.label, hint)
		require.Equal(t, want.partID, got.partID, where)
		require.Equal(t, fmt.Sprintf("% x", want.hex), fmt.Sprintf("% x", got.hex), where)
		if want.bits != nil {
			require.Equal(t, want.bits, got.bits, where)
		}
		if len(got.bits) > 0 {
			spelled := strings.Join(strings.Fields(strings.Join(got.bits, " ")), "")
			require.Equal(t, bitText(want.hex), spelled, where)
		}
	}
}

// TestUvarintCompact checks the table of codes.
func TestUvarintCompact(t *testing.T) {
	lines := 0
	for _, b := range blocks("stef-uc") {
		for line := range strings.Lines(b.text()) {
			lines++
			var value uint64
			var code string
			_, err := fmt.Sscan(line, &value, &code)
			require.NoError(t, err, line)
			var data []byte
			_, err = fmt.Sscanf(code, "%x", &data)
			require.NoError(t, err, line)
			in := &bitString{text: bitText(data)}
			got, text, err := in.compact()
			require.NoError(t, err, line)
			require.Equal(t, value, got, line)
			require.Equal(t, compactText(value), text, "%s: not the lowest class", line)
			require.NotContains(t, in.text, "1", line)
			require.Less(t, len(in.text), 8, line)
		}
	}
	require.NotZero(t, lines)
}

// TestWireSchemas checks the wire schemas and column counts of the roots of
// OpenTelemetry.
func TestWireSchemas(t *testing.T) {
	otel, err := idl.Parse("otel.stef", []byte(spec.OTelSchema))
	require.NoError(t, err)
	form := compactSchema(t)
	lines := 0
	for _, b := range blocks("stef-wire") {
		for line := range strings.Lines(b.text()) {
			lines++
			words := strings.Fields(line)
			n := len(words)
			require.Greater(t, n, 4, line)
			root := otel.Root(words[0])
			older := words[1] == "first" || words[1] == "second" // versions of the compact form
			if words[1] == "compact" || older {
				root = form.Root(words[0])
			}
			require.NotNil(t, root, line)
			wire, err := numbers(words[2 : n-2])
			require.NoError(t, err, line)
			if words[1] != "published" && !older {
				require.Equal(t, schema.WireOf(root), wire, line)
			}
			kept, err := schema.Keep(root, wire)
			require.NoError(t, err, line)
			require.Equal(t, fmt.Sprint(len(schema.Columns(root, kept))), words[n-2], line)
		}
	}
	require.Equal(t, 11, lines)
}
