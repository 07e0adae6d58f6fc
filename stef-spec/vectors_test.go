// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/annotate"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
	spec "github.com/otelstef/stef/stef-spec"
)

// vectorsDir is the folder of the vectors; its README describes them.
const vectorsDir = "vectors"

const maxVector = 2 << 10

// vector is a small stream. Its stored bytes are the expected output of the generated writers.
type vector struct {
	name string
	// about says what the vector shows.
	about   string
	root    *vectorRoot
	options []vectorOption
	// compact says that the stream is in the compact form.
	compact bool
	// write writes the records to out.
	write func(out io.Writer, options []stef.WriterOption) error
}

// vectorOption is a writer option and its spelling in Go.
type vectorOption struct {
	text   string
	option stef.WriterOption
}

// vectorRoot contains what the tests need to know about a root.
type vectorRoot struct {
	name string
	base schema.WireSchema
	// compact returns the root with the fields of the compact form.
	compact func() *schema.Struct
	// read reads records with the generated reader and calls a function for every
	// record.
	read func(stream []byte, each func(rec any)) error
}

// recordReader has the methods that generated readers of records R share.
type recordReader[R any] interface {
	Next() bool
	Record() R
	Err() error
}

func newVectorRoot[R any, D recordReader[R]](name string, base schema.WireSchema, compact func() *schema.Struct,
	newReader func(io.Reader, ...stef.ReaderOption) (D, error)) *vectorRoot {
	read := func(stream []byte, each func(rec any)) error {
		r, err := newReader(bytes.NewReader(stream))
		if err != nil {
			return err
		}
		for r.Next() {
			each(r.Record())
		}
		return r.Err()
	}
	return &vectorRoot{name: name, base: base, compact: compact, read: read}
}

var (
	metricsRoot = newVectorRoot(otelstef.MetricsRootName, otelstef.MetricsBaseSchema(), otelstef.MetricsCompactRoot, otelstef.NewMetricsReader)
	spansRoot   = newVectorRoot(otelstef.SpansRootName, otelstef.SpansBaseSchema(), otelstef.SpansCompactRoot, otelstef.NewSpansReader)
	logsRoot    = newVectorRoot(otelstef.LogsRootName, otelstef.LogsBaseSchema(), otelstef.LogsCompactRoot, otelstef.NewLogsReader)

	vectorRoots = map[string]*vectorRoot{metricsRoot.name: metricsRoot, spansRoot.name: spansRoot, logsRoot.name: logsRoot}
)

// recordWriter has the methods that generated writers of records R share.
type recordWriter[R any] interface {
	Record() R
	Write() error
	Flush() error
	Close() error
}

// script writes a vector: step by step it changes the record and writes it.
type script[R any] struct {
	w   recordWriter[R]
	err error
}

func (s *script[R]) write(change func(rec R)) {
	if s.err == nil {
		change(s.w.Record())
		s.err = s.w.Write()
	}
}

// flush ends the frame.
func (s *script[R]) flush() {
	if s.err == nil {
		s.err = s.w.Flush()
	}
}

func newVector[R any, W recordWriter[R]](root *vectorRoot, newWriter func(io.Writer, ...stef.WriterOption) (W, error),
	name, about string, options []vectorOption, run func(s *script[R])) vector {
	write := func(out io.Writer, options []stef.WriterOption) error {
		w, err := newWriter(out, options...)
		if err != nil {
			return err
		}
		s := &script[R]{w: w}
		run(s)
		if s.err != nil {
			return s.err
		}
		return w.Close()
	}
	return vector{name: name, about: about, root: root, options: options, write: write}
}

func metricsVector(name, about string, options []vectorOption, run func(s *script[*otelstef.Metrics])) vector {
	return newVector(metricsRoot, otelstef.NewMetricsWriter, "metrics_"+name, about, options, run)
}

func spansVector(name, about string, options []vectorOption, run func(s *script[*otelstef.Spans])) vector {
	return newVector(spansRoot, otelstef.NewSpansWriter, "spans_"+name, about, options, run)
}

func logsVector(name, about string, options []vectorOption, run func(s *script[*otelstef.Logs])) vector {
	// With this option, the schema of the vectors stays the same when Logs gets new fields.
	options = append([]vectorOption{{"WithSchema(LogsBaseSchema())", stef.WithSchema(otelstef.LogsBaseSchema())}}, options...)
	return newVector(logsRoot, otelstef.NewLogsWriter, "logs_"+name, about, options, run)
}

// TestVectors compares the output of the generated writers with the bytes of
// the vectors. It also compares the output of both readers and of annotate with
// the other files of the same folder.
func TestVectors(t *testing.T) {
	parsed, err := idl.Parse("otel.stef", []byte(spec.OTelSchema))
	require.NoError(t, err)
	files := map[string]bool{"README.md": true}
	for _, list := range [][]vector{metricsVectors(), spansVectors(), logsVectors(), compactVectors()} {
		for _, v := range list {
			require.False(t, files[v.name+".stef"], "two vectors have the name %q", v.name)
			for _, ext := range []string{".stef", ".txt", ".json"} {
				files[v.name+ext] = true
			}
			t.Run(v.name, func(t *testing.T) { v.run(t, parsed.Root(v.root.name)) })
		}
	}
	entries, err := os.ReadDir(vectorsDir)
	require.NoError(t, err)
	for _, e := range entries {
		require.True(t, files[e.Name()], "%s belongs to no vector", e.Name())
	}
}

func (v *vector) run(t *testing.T, root *schema.Struct) {
	var written bytes.Buffer
	var options []stef.WriterOption
	for _, o := range v.options {
		options = append(options, o.option)
	}
	require.NoError(t, v.write(&written, options))
	require.Less(t, written.Len(), maxVector)
	wire := root
	if v.compact {
		wire = v.root.compact()
	}
	stream := v.golden(t, ".stef", func(stored []byte) []byte {
		// Another release of zstd produces other bytes, but the same payloads.
		if v.samePayloads(t, wire, stored, written.Bytes()) {
			return stored
		}
		return written.Bytes()
	})
	require.True(t, v.samePayloads(t, wire, stream, written.Bytes()), "the writer gives other payloads")
	if stream[6] == byte(stef.None) {
		require.Equal(t, fmt.Sprintf("% x", stream), fmt.Sprintf("% x", written.Bytes()))
	}

	lines := ""
	if v.compact {
		lines = readByRules(t, wire, root, stream)
	} else {
		lines = v.readDynamic(t, root, stream)
	}
	stored := v.golden(t, ".json", func([]byte) []byte { return []byte(lines) })
	require.Equal(t, string(stored), lines, "as package dynamic, or the rules of the compact form, read it")
	require.Equal(t, string(stored), v.readGenerated(t, root, stream), "as the generated code reads it")

	var text bytes.Buffer
	text.WriteString(v.heading())
	require.NoError(t, annotate.Stream(&text, bytes.NewReader(stream), wire, annotate.WithAssumedSchema(v.root.base)))
	stored = v.golden(t, ".txt", func([]byte) []byte { return text.Bytes() })
	require.Equal(t, string(stored), text.String())
}

// golden returns the content of the file of v with an extension. With -update
// it replaces the content with the result of made, which receives the old
// content.
func (v *vector) golden(t *testing.T, ext string, made func(stored []byte) []byte) []byte {
	t.Helper()
	path := filepath.Join(vectorsDir, v.name+ext)
	stored, err := os.ReadFile(path)
	if !*update {
		require.NoError(t, err, "go test -update writes it")
		return stored
	}
	stored = made(stored)
	require.NoError(t, os.WriteFile(path, stored, 0o644))
	return stored
}

// samePayloads reports whether two streams are equal, except for the compressed bytes and their
// sizes: it compares the decompressed payloads.
func (v *vector) samePayloads(t *testing.T, root *schema.Struct, a, b []byte) bool {
	t.Helper()
	return len(a) > 0 && v.payloads(t, root, a) == v.payloads(t, root, b)
}

// payloads lists the elements of a stream that do not depend on compression.
func (v *vector) payloads(t *testing.T, root *schema.Struct, stream []byte) string {
	t.Helper()
	var b strings.Builder
	trace := dynamic.WithTrace(func(e *dynamic.Event) {
		field, _ := e.Detail.(dynamic.TraceField)
		switch field.Name {
		case "compressed size", "compressed content":
		default:
			fmt.Fprintf(&b, "%d %d.%d %x %s\n", e.Frame, e.Bit, e.Bits, e.Data, e.Path)
		}
	})
	r, err := dynamic.NewReader(bytes.NewReader(stream), root, trace, dynamic.WithAssumedSchema(v.root.base))
	require.NoError(t, err)
	for r.Next() {
	}
	require.NoError(t, r.Err())
	return b.String()
}

func (v *vector) readDynamic(t *testing.T, root *schema.Struct, stream []byte) string {
	t.Helper()
	r, err := dynamic.NewReader(bytes.NewReader(stream), root, dynamic.WithAssumedSchema(v.root.base))
	require.NoError(t, err)
	var out []byte
	for r.Next() {
		out = appendLine(t, out, root, r.Record())
	}
	require.NoError(t, r.Err())
	return string(out)
}

// readByRules reads a stream in the compact form by the rules of the specification.
func readByRules(t *testing.T, compact, full *schema.Struct, stream []byte) string {
	t.Helper()
	records, err := readCompact(stream, compact, full)
	require.NoError(t, err)
	var out []byte
	for _, rec := range records {
		out = appendLine(t, out, full, rec)
	}
	return string(out)
}

func (v *vector) readGenerated(t *testing.T, root *schema.Struct, stream []byte) string {
	t.Helper()
	var out []byte
	require.NoError(t, v.root.read(stream, func(rec any) {
		out = appendLine(t, out, root, steftest.Value(rec, root, nil))
	}))
	return string(out)
}

func appendLine(t *testing.T, out []byte, root *schema.Struct, rec *dynamic.Struct) []byte {
	t.Helper()
	out, err := dynamic.AppendJSON(out, root, nil, rec)
	require.NoError(t, err)
	return append(out, '\n')
}

// heading is the beginning of the annotated form.
func (v *vector) heading() string {
	options := "no options"
	if len(v.options) > 0 {
		var texts []string
		for _, o := range v.options {
			texts = append(texts, o.text)
		}
		options = strings.Join(texts, ", ")
	}
	text := fmt.Sprintf("# %s: %s\n", v.name, v.about)
	files := "../otel.stef"
	if v.compact {
		files += " with the fields of ../compact.stef"
	}
	text += fmt.Sprintf("# Schema %s, root %s. Written with %s.\n", files, v.root.name, options)
	return text + fmt.Sprintf("# The records are in %s.json.\n\n", v.name)
}

// Options of vectors.

var (
	withHeader = vectorOption{"WithSchemaHeader()", stef.WithSchemaHeader()}
	withZstd   = vectorOption{"WithCompression(Zstd)", stef.WithCompression(stef.Zstd)}
)

func withRestart(text string, flags stef.FrameFlags) vectorOption {
	return vectorOption{"WithRestart(" + text + ")", stef.WithRestart(flags)}
}

func withSchema(wire ...int) vectorOption {
	return vectorOption{fmt.Sprintf("WithSchema(%v)", wire), stef.WithSchema(wire)}
}

// setAttributes sets the pairs of m from keys and values in turn. The Go type of a value selects
// its kind: nil is the empty value, []any an array, and type pairs a list of keys and values.
func setAttributes(m *otelstef.Attributes, keysAndValues ...any) {
	m.SetLen(len(keysAndValues) / 2)
	for i := range m.Len() {
		m.SetKey(i, keysAndValues[2*i].(string))
		setAny(m.Value(i), keysAndValues[2*i+1])
	}
}

// pairs are keys and values in turn.
type pairs []any

func setAny(v *otelstef.AnyValue, x any) {
	switch x := x.(type) {
	case nil:
		v.Reset()
	case string:
		v.SetString(x)
	case bool:
		v.SetBool(x)
	case int:
		v.SetInt64(int64(x))
	case float64:
		v.SetFloat64(x)
	case []byte:
		v.SetBytes(x)
	case []any:
		array := v.SetArray()
		array.SetLen(len(x))
		for i, elem := range x {
			setAny(array.At(i), elem)
		}
	case pairs:
		list := v.SetKVList()
		list.SetLen(len(x) / 2)
		for i := range list.Len() {
			list.SetKey(i, x[2*i].(string))
			setAny(list.Value(i), x[2*i+1])
		}
	}
}
