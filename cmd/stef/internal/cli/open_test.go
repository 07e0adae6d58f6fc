// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
)

const shopSchema = `package shop

struct Order root {
  ID uint64
  Customer string dict(Customer)
  Items []Item
}

struct Item { Name string dict(Item) Count uint64 }

struct Visit root {
  Page string
  Seconds float64
  Ok bool
}
`

// orders writes a stream of orders.
func orders(t *testing.T, options ...dynamic.WriterOption) []byte {
	t.Helper()
	s, err := idl.Parse("shop.stef", []byte(shopSchema))
	require.NoError(t, err)
	root := s.Root("Order")
	var buf bytes.Buffer
	w, err := dynamic.NewWriter(&buf, root, options...)
	require.NoError(t, err)
	for i := range 3 {
		rec := dynamic.NewStruct(root)
		rec.Fields[0], rec.Fields[1] = uint64(i+1), "Ada"
		item := dynamic.NewStruct(s.Structs[1])
		item.Fields[0], item.Fields[1] = "tea", uint64(2)
		rec.Fields[2] = &dynamic.Array{Elems: []any{item}}
		require.NoError(t, w.Write(rec))
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

// If several files announce their schema, one warning names the first file.
func TestBaseWithoutEffectWarnsOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.stef")
	require.NoError(t, os.WriteFile(path, []byte(shopSchema), 0o666))
	bare, first, second := filepath.Join(dir, "bare"), filepath.Join(dir, "first"), filepath.Join(dir, "second")
	require.NoError(t, os.WriteFile(bare, orders(t), 0o666))
	for _, name := range []string{first, second} {
		require.NoError(t, os.WriteFile(name, orders(t, dynamic.WithSchemaHeader()), 0o666))
	}
	out, stderr := mustRun(t, nil, "cat", "--schema", path, "--root", "Order", "--base", "Order=3,2", bare, first, second)
	require.Equal(t, 9, strings.Count(out, "\n"))
	require.Equal(t, "warning: --base Order has no effect: "+first+" announces its schema\n", stderr)
}

// Streams of a user's schema are read with that schema.
func TestOwnSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.stef")
	require.NoError(t, os.WriteFile(path, []byte(shopSchema), 0o666))
	for _, options := range [][]dynamic.WriterOption{nil, {dynamic.WithSchemaHeader(), dynamic.WithCompression(dynamic.Zstd)}} {
		data := orders(t, options...)
		for _, more := range [][]string{{"--schema", path}, {"--schema", path, "--root", "Order"}, {"--schema=" + path, "--root=order"}} {
			out, stderr := mustRun(t, data, append([]string{"cat", "-"}, more...)...)
			require.Empty(t, stderr)
			require.Equal(t, `{"id":1,"customer":"Ada","items":[{"name":"tea","count":2}]}`, strings.SplitAfter(out, "\n")[0][:60])
			require.Equal(t, 3, strings.Count(out, "\n"))
			out, _ = mustRun(t, data, append([]string{"stat", "-"}, more...)...)
			require.Contains(t, out, "root         Order, schema of shop.stef, ")
			require.Contains(t, out, "Order.Items[].Name")
			out, _ = mustRun(t, data, append([]string{"inspect", "-"}, more...)...)
			require.Contains(t, out, `"Ada", becomes Customer[0]`)
		}
		for _, command := range []string{"cat", "stat", "inspect"} {
			code, _, stderr := run(data, command, "-")
			require.Equal(t, cli.ExitData, code)
			require.Contains(t, stderr, ": if the records are of a schema of your own, pass it with --schema FILE.stef: ", command)
			code, _, stderr = run(data, command, "--schema", path, "--root", "Visit", "-")
			if options != nil {
				require.Equal(t, cli.ExitUsage, code)
				require.Equal(t, "stef "+command+": standard input: the schema that the stream announces fits Order, not Visit: say --root Order; "+
					"if it holds records of Visit, pass the .stef file that it was written with\n", stderr)
			} else {
				require.Equal(t, cli.ExitData, code)
				require.Contains(t, stderr, "; or pass --root Order, which fits: ")
			}
			for _, base := range []string{"Order=3,2", "Visit=2"} {
				_, stderr = mustRun(t, data, command, "--schema", path, "--root", "Order", "--base", base, "-")
				switch {
				case options != nil:
					require.Equal(t, "warning: --base "+base[:5]+" has no effect: standard input announces its schema\n", stderr)
				case base == "Visit=2":
					require.Equal(t, "warning: --base Visit has no effect: standard input holds records of Order\n", stderr)
				default:
					require.Empty(t, stderr)
				}
			}
			code, _, stderr = run(data, command, "--schema", path, "--root", "spans", "-")
			require.Equal(t, cli.ExitUsage, code)
			require.Contains(t, stderr, `no such root: "spans"; there are Order, Visit`)
		}
	}
	bad := filepath.Join(t.TempDir(), "bad.stef")
	require.NoError(t, os.WriteFile(bad, []byte("package a\nstruct A root { X timestamp }\n"), 0o666))
	code, _, stderr := run(nil, "cat", "--schema", bad, "-")
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "bad.stef:2:")
	code, _, _ = run(nil, "cat", "--schema", filepath.Join(t.TempDir(), "none"), "-")
	require.Equal(t, cli.ExitIO, code)
}

// Messages about schemas with many roots and structs say what to do and are not too long.
func TestOwnSchemaMessages(t *testing.T) {
	dir := t.TempDir()
	var schema strings.Builder
	schema.WriteString("package shop\n")
	for _, name := range []string{"Alpha", "Beta", "Gamma", "Delta", "Epsilon"} {
		fmt.Fprintf(&schema, "struct %sRecord root { P %sPart Q []%sPart R float64 S string }\nstruct %sPart { A string dict(%s) B uint64 C %sEnd }\nstruct %sEnd { X float64 Y bytes }\n", name, name, name, name, name, name, name)
	}
	path := filepath.Join(dir, "many.stef")
	require.NoError(t, os.WriteFile(path, []byte(schema.String()), 0o666))
	for _, options := range [][]dynamic.WriterOption{nil, {dynamic.WithSchemaHeader()}} {
		for _, args := range [][]string{{}, {"--schema", path}, {"--schema", path, "--root", "BetaRecord"}} {
			code, _, stderr := run(orders(t, options...), append([]string{"cat", "-"}, args...)...)
			require.NotZero(t, code)
			require.Less(t, len(strings.ReplaceAll(stderr, dir, "")), 500, stderr)
		}
	}
	code, _, stderr := run(orders(t), "cat", "--schema", path, "-")
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "many.stef (AlphaRecord=4,3,2, and 4 more roots). If it was written")
	require.Contains(t, stderr, "; nor as BetaRecord, GammaRecord, DeltaRecord, EpsilonRecord\n")

	// The schema has two roots with equal fields, so the stream fits both.
	twins := filepath.Join(dir, "twins.stef")
	require.NoError(t, os.WriteFile(twins, []byte(strings.Replace(shopSchema, "struct Visit", "struct Return root { ID uint64 Customer string dict(Customer) Items []Item }\nstruct Visit", 1)), 0o666))
	code, _, stderr = run(orders(t, dynamic.WithSchemaHeader()), "cat", "--schema", twins, "-")
	require.Equal(t, cli.ExitUsage, code)
	require.Equal(t, "stef cat: standard input: the schema that the stream announces fits Order, Return: say which with --root\n", stderr)

	// The stream announces all fields of one root, and some fields of another one.
	longer := filepath.Join(dir, "longer.stef")
	require.NoError(t, os.WriteFile(longer, []byte(strings.Replace(shopSchema, "struct Visit", "struct Return root { ID uint64 Customer string dict(Customer) Items []Item Reason string }\nstruct Visit", 1)), 0o666))
	for _, command := range []string{"cat", "stat", "inspect", "repair"} {
		args := []string{command, "--schema", longer, "-"}
		if command == "repair" {
			args = append(args, filepath.Join(dir, "repaired"))
		}
		code, _, stderr = run(orders(t, dynamic.WithSchemaHeader()), args...)
		require.Equal(t, cli.ExitUsage, code)
		require.Equal(t, "stef "+command+": standard input: several roots fit: the stream announces the schema of Order, which is also an older schema of Return: "+
			"pass --root Order, unless the stream holds records of Return\n", stderr)
	}
	mustRun(t, orders(t, dynamic.WithSchemaHeader()), "cat", "--schema", longer, "--root", "Order", "-")
}

const olderShop = `package shop

struct Order root {
  ID uint64
  Customer string dict(Customer)
}
`

// Streams of an older schema version, and errors in schemas, cause messages that
// say what to do.
func TestSchemaVersions(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
		return path
	}
	older, newer := file("older.stef", olderShop), file("newer.stef", shopSchema)
	s, err := idl.Parse("older.stef", []byte(olderShop))
	require.NoError(t, err)
	var buf bytes.Buffer
	w, err := dynamic.NewWriter(&buf, s.Root("Order"))
	require.NoError(t, err)
	rec := dynamic.NewStruct(s.Root("Order"))
	rec.Fields[0], rec.Fields[1] = uint64(7), "Ada"
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	old, announced := buf.Bytes(), orders(t, dynamic.WithSchemaHeader())

	fails := func(code int, want string, in []byte, args ...string) {
		t.Helper()
		got, _, stderr := run(in, args...)
		require.Equal(t, code, got)
		require.Contains(t, stderr, want)
	}
	for _, command := range []string{"cat", "stat", "inspect"} {
		out, _ := mustRun(t, old, command, "--schema", newer, "--root", "Order", "--base", "Order=2", "-")
		require.Contains(t, out, map[string]string{"cat": `"customer":"Ada"`, "stat": "root         Order, older version of newer.stef, not announced: 2\n", "inspect": `"Ada"`}[command])
		fails(cli.ExitData, "the stream announces no schema, so it is read with all fields of "+newer+" (Order=3,2). If it was written with another version, pass the schema of that version, or, for an older one, --base with its numbers of fields: frame 1 at offset ", old,
			command, "--schema", newer, "--root", "Order", "-")
		fails(cli.ExitData, "its user data say that its root is Err, which "+older+" does not have: pass the schema of that root: frame 1 at offset ",
			orders(t, dynamic.WithUserData(map[string]string{"stef.root": "Err"})), command, "--schema", older, "-")
		fails(cli.ExitData, "so it is read with the numbers of --base. If it was written with another version, pass the numbers of that version, as stefc -numbers prints them: frame 1 at offset ", old,
			command, "--schema", newer, "--root", "Order", "--base", "Order=1", "-")
		fails(cli.ExitData, "--base", old, command, "--schema", newer, "-")
		fails(cli.ExitData, "the stream is newer than "+older, announced, command, "--schema", older, "-")
		fails(cli.ExitUsage, "--base needs --schema", old, command, "--base", "Order=2", "-")
		fails(cli.ExitUsage, "--base Order: wire schema: entry 0 (Order): has 4 fields, this schema has 3; the whole schema is Order=3,2\n", old,
			command, "--schema", newer, "--base", "Order=4", "-")
		fails(cli.ExitUsage, "--base Sale: no such root", old, command, "--schema", newer, "--base", "Sale=4", "-")
		fails(cli.ExitUsage, `"x" is not a number of fields`, old, command, "--schema", newer, "--base", "Order=x", "-")
		fails(cli.ExitUsage, "roots of your own need --schema FILE.stef", old, command, "--root", "Order", "-")

		stream := file("orders.stef", string(old))
		fails(cli.ExitUsage, "orders.stef: it is a stream, not a schema; are the two swapped?", nil, command, "--schema", stream, older)
		fails(cli.ExitUsage, "older.stef: it is a schema, not a stream; ", nil, command, older)
		fails(cli.ExitUsage, "older.stef: it is a schema, not a stream; ", nil, command, "--schema", newer, older)
	}
	// --base accepts the whole output of stefc -numbers.
	out, _ := mustRun(t, old, "cat", "--schema", newer, "--root", "Order", "--base", "Order=2\nVisit=3\n", "-")
	require.Contains(t, out, `"customer":"Ada"`)
	to := filepath.Join(dir, "out.stef")
	_, stderr := mustRepair(t, old, "--schema", newer, "--root", "Order", "--base", "Order=2", "-", to)
	require.Contains(t, stderr, "1 whole frame with 1 record")
	kept, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, old, kept)
	// The schema may be wrong, so repair writes nothing.
	fails(cli.ExitData, "; as no frame can be read, repair writes nothing\n", old, "repair", "--force", "--schema", newer, "--root", "Order", "-", to)
	kept, err = os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, old, kept)

	// A schema whose fields were moved does not fit the stream.
	moved := file("moved.stef", strings.Replace(shopSchema, "ID uint64\n  Customer string dict(Customer)", "Customer string dict(Customer)\n  ID uint64", 1))
	fails(cli.ExitData, "; if the file is not damaged, it was written with another schema than "+moved+": fields may only be appended", announced, "cat", "--schema", moved, "--root", "Order", "-")
	code, _, stderr := run(announced[:len(announced)-3], "cat", "--schema", newer, "-")
	require.Equal(t, cli.ExitData, code)
	require.NotContains(t, stderr, "another schema")

	// If --base is set, the error does not say that the stream announces no schema.
	code, _, stderr = run(orders(t)[:20], "cat", "--schema", newer, "--base", "Order=3,2", "--root", "Order", "-")
	require.Equal(t, cli.ExitData, code)
	require.NotContains(t, stderr, "announces no schema")
}

// A stream that announces its schema also fits a root with more fields. If its records belong to
// another root, the error says so, and names the only root that fits.
func TestRootWithMoreFields(t *testing.T) {
	const session, event = "struct Session root { ID uint64 Name string }\n", "struct Event root { Time uint64 Kind uint64 Size uint64 }\n"
	schema := "package game\n" + session + event
	s, err := idl.Parse("game.stef", []byte(schema))
	require.NoError(t, err)
	var buf bytes.Buffer
	w, err := dynamic.NewWriter(&buf, s.Root("Session"), dynamic.WithSchemaHeader())
	require.NoError(t, err)
	rec := dynamic.NewStruct(s.Root("Session"))
	rec.Fields[0], rec.Fields[1] = uint64(7), "Ada"
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "game.stef")
	f := func(want, schema string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(schema), 0o666))
		code, _, stderr := run(buf.Bytes(), "cat", "--schema", path, "--root", "Event", "-")
		require.Equal(t, cli.ExitData, code)
		require.Contains(t, stderr, "it was written with another schema than "+path)
		require.True(t, strings.HasSuffix(stderr, "or given another type"+want+"\n"), stderr)
	}
	f("; or its records are those of Session: the announced schema fits this root, too, so try --root Session", schema)
	f("; or its records are those of another root", "package game\n"+event)
	f("; or its records are those of another root", schema+"struct Player root { A bool B bool }\n")
	f("", "package game\nstruct Event root { Time uint64 Kind uint64 }\n")
}

// The advice to run stef repair contains the flags that repair needs to read the stream.
func TestRepairAdviceHasFlags(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
		return path
	}
	s, err := idl.Parse("older.stef", []byte(olderShop))
	require.NoError(t, err)
	var buf bytes.Buffer
	w, err := dynamic.NewWriter(&buf, s.Root("Order"))
	require.NoError(t, err)
	for id := range uint64(3) {
		rec := dynamic.NewStruct(s.Root("Order"))
		rec.Fields[0], rec.Fields[1] = id, "Ada"
		require.NoError(t, w.Write(rec))
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	newer, cut := file("newer.stef", shopSchema), file("cut.stef", string(buf.Bytes()[:buf.Len()-2]))
	flags := []string{"--schema", newer, "--root", "Order", "--base", "Order=2"}
	for _, command := range []string{"cat", "inspect"} {
		code, _, stderr := run(nil, append(append([]string{command}, flags...), cut)...)
		require.Equal(t, cli.ExitData, code)
		require.Contains(t, stderr, "; stef repair "+strings.Join(flags, " ")+" copies the whole frames before it\n")
	}
	code, _, stderr := run(nil, append(append([]string{"repair"}, flags...), cut, filepath.Join(dir, "whole.stef"))...)
	require.Equal(t, cli.ExitLost, code, stderr)
}

// With --zeros, cat also prints fields that are zero. Without this flag, programs that load the
// lines into tables would treat these fields as missing.
func TestZeros(t *testing.T) {
	schema := filepath.Join(t.TempDir(), "shop.stef")
	require.NoError(t, os.WriteFile(schema, []byte(olderShop), 0o666))
	s, err := idl.Parse("older.stef", []byte(olderShop))
	require.NoError(t, err)
	var buf bytes.Buffer
	w, err := dynamic.NewWriter(&buf, s.Root("Order"))
	require.NoError(t, err)
	require.NoError(t, w.Write(dynamic.NewStruct(s.Root("Order"))))
	require.NoError(t, w.Close())
	out, _ := mustRun(t, buf.Bytes(), "cat", "--schema", schema, "-")
	require.Equal(t, "{}\n", out)
	out, _ = mustRun(t, buf.Bytes(), "cat", "--zeros", "--schema", schema, "-")
	require.Equal(t, `{"id":0,"customer":""}`+"\n", out)
	code, _, stderr := run(buf.Bytes(), "cat", "--zeros", "--canonical", "--schema", schema, "-")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "--zeros and --canonical exclude each other")

	// --zeros does not print the fields of the compact form for records of OpenTelemetry.
	for _, mode := range []string{"compact", "full"} {
		stream, _ := mustRun(t, fixtures.Logs(), "convert", "--quiet", "--schema", mode, "-", "-")
		out, _ = mustRun(t, []byte(stream), "cat", "-n", "1", "--zeros", "-")
		require.Contains(t, out, `"dropped_attributes_count":0`)
		require.NotContains(t, out, `"compact`)
	}
}

// cat prints the same lines for an OTLP file and for the stream that convert makes of this file.
// stat prints the same figures for both files, except for its lines about OTLP.
func TestOTLPFiles(t *testing.T) {
	dir, recording := folder(t)
	streamed := filepath.Join(dir, "x.stef")
	plain := filepath.Join(dir, "plain.stef")
	mustRun(t, nil, "convert", recording, streamed)
	mustRun(t, nil, "convert", "--compression", "none", recording, plain)
	want, _ := mustRun(t, nil, "cat", plain)
	got, stderr := mustRun(t, nil, "cat", recording)
	require.Empty(t, stderr)
	require.True(t, want == got)
	first, _ := mustRun(t, nil, "cat", "-n", "2", recording)
	require.Equal(t, strings.Join(strings.SplitAfter(want, "\n")[:2], ""), first)

	want, _ = mustRun(t, nil, "stat", streamed)
	got, _ = mustRun(t, nil, "stat", recording)
	// The figures for OTLP differ: stat measures the requests of an OTLP file, but one request for
	// each frame of a stream. stat knows the zstd level only of a stream that it makes.
	asOTLP := regexp.MustCompile(`as OTLP      .*\nzstd level   .*\n`)
	require.Len(t, asOTLP.FindAllString(want+got, -1), 2)
	want, got = asOTLP.ReplaceAllString(want, ""), asOTLP.ReplaceAllString(got, "")
	require.Equal(t, "source       otlp-parts, as the stream that stef convert makes of it\n"+want, got)

	mixed := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}` + "\n" + `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"x"}]}]}]}`
	code, _, stderr := run([]byte(mixed), "cat", "-")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "; --signal metrics, traces or logs reads only these")
	out, stderr := mustRun(t, []byte(mixed), "cat", "--signal", "logs", "-")
	require.Contains(t, out, `"event_name":"x"`)
	require.Equal(t, "skipped: 1 span, which --signal logs excludes\n", stderr)

	cut := filepath.Join(dir, "cut.zst")
	require.NoError(t, os.WriteFile(cut, fixtures.Logs()[:20_000], 0o666))
	for _, command := range []string{"cat", "stat"} {
		code, _, stderr = run(nil, command, cut)
		require.Equal(t, cli.ExitData, code)
		require.Contains(t, stderr, "unexpected EOF")
	}
}

// An undamaged stream that exceeds a limit of the tool is not reported as damaged, repair does
// not drop what it cannot read, and the flags raise the limits.
func TestLimits(t *testing.T) {
	const text = "package a\nstruct Rec root { Values []float64 Inner Inner }\nstruct Inner { Inner Inner optional }\n"
	s, err := idl.Parse("a.stef", []byte(text))
	require.NoError(t, err)
	dir := t.TempDir()
	schema, in, out := filepath.Join(dir, "a.stef"), filepath.Join(dir, "in.stef"), filepath.Join(dir, "out.stef")
	require.NoError(t, os.WriteFile(schema, []byte(text), 0o666))
	root := s.Root("Rec")

	// Each stream has a small record, then a record with 1 MiB of values or 40 levels.
	large, deep := dynamic.NewStruct(root), dynamic.NewStruct(root)
	values := &dynamic.Array{}
	for range 1 << 16 {
		values.Elems = append(values.Elems, 0.0)
	}
	large.Fields[0] = values
	inner := deep.Fields[1].(*dynamic.Struct)
	for range 40 {
		next := dynamic.NewStruct(root.Fields[1].Type.Struct)
		inner.Fields[0], inner.Present[0] = next, true
		inner = next
	}
	f := func(rec *dynamic.Struct, text, low, high string) {
		t.Helper()
		var buf bytes.Buffer
		w, err := dynamic.NewWriter(&buf, root)
		require.NoError(t, err)
		require.NoError(t, w.Write(dynamic.NewStruct(root)))
		require.NoError(t, w.Flush())
		require.NoError(t, w.Write(rec))
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(in, buf.Bytes(), 0o666))

		const hint = "; this is a limit of the tool, and the file may be undamaged: raise --memory-mib or --depth\n"
		for _, args := range [][]string{{"cat", in}, {"stat", in}, {"inspect", in}, {"repair", in, out}} {
			args = append(args, "--schema", schema)
			code, stdout, stderr := run(nil, append(args, low)...)
			require.Equal(t, cli.ExitData, code, args)
			require.Contains(t, stderr, text)
			require.Contains(t, stderr, strings.TrimSuffix(hint, "\n"))
			require.NotContains(t, stderr, "lost")
			require.NotContains(t, stdout, "damaged")
			if args[0] == "stat" {
				require.Contains(t, stdout, "not read ")
				require.Contains(t, stderr, ": 1 whole frame with 1 record in ")
			}
			mustRun(t, nil, append(args, high)...)
		}
		kept, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Equal(t, buf.Bytes(), kept)
		require.NoError(t, os.Remove(out))
		code, _, _ := run(nil, "repair", in, out, "--schema", schema, low)
		require.Equal(t, cli.ExitData, code)
		require.NoFileExists(t, out)

		stdout, _ := mustRun(t, nil, "stat", "--json", in, "--schema", schema)
		require.NotContains(t, stdout, "over_limit")
		_, stdout, _ = run(nil, "stat", "--json", in, "--schema", schema, low)
		require.Contains(t, stdout, `"over_limit": true`)
	}
	f(large, "frame 2 at offset 17, record 2, column Rec.Values: limit exceeded: the record takes more than 1048576 bytes", "--memory-mib=1", "--memory-mib=64")
	f(deep, "limit exceeded: values are nested deeper than 40", "--depth=40", "--depth=41")

	for _, flag := range []string{"--memory-mib=0", "--memory-mib=1048577", "--depth=0", "--depth=100001"} {
		code, _, stderr := run(nil, "cat", flag, in)
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, stderr, "not between 1 and ")
	}
}

// cat prints the bodies and observed times of log records as their sender passed them, in each
// schema of a stream.
func TestCatReadableLogs(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, fixtures.LogsName)
	require.NoError(t, os.WriteFile(in, fixtures.Logs(), 0o666))
	for _, schema := range []string{"compact", "full"} {
		out := filepath.Join(dir, schema+".stef")
		mustRun(t, nil, "convert", "--quiet", "--schema", schema, in, out)
		canonical, _ := mustRun(t, nil, "cat", "--canonical", out)
		require.True(t, strings.Contains(canonical, `"body":{"type":"template",`))
		text, _ := mustRun(t, nil, "cat", out)

		otlp := filepath.Join(dir, schema+".json")
		mustRun(t, nil, "convert", "--quiet", out, otlp)
		content, err := os.ReadFile(otlp)
		require.NoError(t, err)
		var bodies, want []string
		var times, wantTimes []uint64
		for line := range strings.Lines(text) {
			var rec struct {
				Record struct {
					Body         any
					ObservedTime uint64 `json:"observed_time"`
				}
			}
			require.NoError(t, json.Unmarshal([]byte(line), &rec))
			body, _ := rec.Record.Body.(string)
			bodies, times = append(bodies, body), append(times, rec.Record.ObservedTime)
		}
		for line := range strings.Lines(string(content)) {
			ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs([]byte(line))
			require.NoError(t, err)
			for _, rl := range ld.ResourceLogs().All() {
				for _, sl := range rl.ScopeLogs().All() {
					for _, lr := range sl.LogRecords().All() {
						body := ""
						if lr.Body().Type() == pcommon.ValueTypeStr {
							body = lr.Body().Str()
						}
						want, wantTimes = append(want, body), append(wantTimes, uint64(lr.ObservedTimestamp()))
					}
				}
			}
		}
		require.Equal(t, 2446, len(bodies))
		require.Equal(t, want, bodies)
		require.Equal(t, wantTimes, times)
	}
}

// frames returns a stream of logs in several frames, and the offsets at which frames begin or end.
func frames(t *testing.T) (data []byte, ends []int) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, fixtures.LogsName), filepath.Join(dir, "x.stef")
	require.NoError(t, os.WriteFile(in, fixtures.Logs(), 0o666))
	mustRun(t, nil, "convert", "--quiet", in, out)
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	var report struct {
		Frames []struct{ Offset int }
	}
	text, _ := mustRun(t, nil, "stat", "--json", out)
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	for _, f := range report.Frames {
		ends = append(ends, f.Offset)
	}
	return data, append(ends, len(data))
}

// For a stream that is truncated at any byte, repair keeps the whole frames and stat reports
// them.
func TestRepair(t *testing.T) {
	data, ends := frames(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.stef"), filepath.Join(dir, "out.stef")
	f := func(content []byte, keep, whole int, want string) {
		t.Helper()
		require.NoError(t, os.WriteFile(in, content, 0o666))
		_, stderr := mustRepair(t, nil, "--force", in, out)
		require.Contains(t, stderr, want)
		kept, err := os.ReadFile(out)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content[:keep], kept), "%d bytes, not %d", len(kept), keep)
		mustRun(t, nil, "cat", out)

		code, stdout, stderr := run(nil, "stat", "--json", in)
		var report struct {
			Records uint64
			Bytes   struct{ Stream int }
			Frames  []any
			Damage  *struct {
				Cut  bool
				Lost int `json:"lost_bytes"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &report))
		require.Len(t, report.Frames, whole)
		require.Equal(t, keep, report.Bytes.Stream)
		if keep == len(content) {
			require.Zero(t, code)
			require.Nil(t, report.Damage)
			return
		}
		require.Equal(t, cli.ExitData, code)
		require.Contains(t, stderr, want)
		require.Equal(t, len(content)-keep, report.Damage.Lost)
	}
	f(data, len(data), 120, ": 120 whole frames with 2,446 records in ")
	for _, i := range []int{0, 1, 60, 119} {
		f(data[:ends[i]], ends[i], i, "; every frame can be read; the stream has no checksums, so changed bytes may have gone unnoticed\n")
		for _, cut := range []int{ends[i] + 1, (ends[i] + ends[i+1]) / 2, ends[i+1] - 1} {
			f(data[:cut], ends[i], i, "lost: the frame that was being written when the file was cut, ")
		}
	}
	damaged := bytes.Clone(data)
	damaged[ends[10]+2] ^= 0x55
	f(damaged, ends[10], 10, "bytes after them")

	// If the headers are cut, there is nothing to keep.
	code, _, stderr := run(data[:5], "repair", "-", "-")
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "standard input: offset ")
	code, _, stderr = run(data, "repair", "-", out)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "exists; --force overwrites it")
}
