// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/idl"
)

func TestExported(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		require.Equal(t, want, exported(name))
	}
	f("name", "Name")
	f("Name", "Name")
	f("n", "N")
	f("über", "Über")
	f("x_y", "X_y")
}

func TestPrivate(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		require.Equal(t, want, private(name))
	}
	f("Name", "name")
	f("name", "name")
	f("N", "n")
	f("TraceID", "traceID")
	f("IDKeys", "idKeys")
	f("URL", "url")
	f("URLs", "urLs")
	f("HTTPServer", "httpServer")
	f("X1", "x1")
	f("Über", "über")
	f("Func", "funcField")
	f("range", "rangeField")
	f("Type", "typeField")
	f("Types", "types")
}

func TestFieldName(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		require.Equal(t, want, fieldName(name))
	}
	f("Name", "name")
	f("Node", "nodeField")
	f("NODE", "nodeField")
	f("SentPresent", "sentPresentField")
	f("Size", "sizeField")
	f("Type", "typeField")
}

func TestFileName(t *testing.T) {
	f := func(typ, want string) {
		t.Helper()
		require.Equal(t, want, fileName(typ))
	}
	f("Point", "point.stef.go")
	f("PointValue", "point_value.stef.go")
	f("HTTPServer", "http_server.stef.go")
	f("ServerURL", "server_url.stef.go")
	f("A", "a.stef.go")
	f("AB", "ab.stef.go")
	f("X1Y", "x1_y.stef.go")
	f("Snake_Case", "snake__case.stef.go")
	f("Linux", "linux.stef.go")
	f("HostLinux", "host_linux_type.stef.go")
	f("HostAmd64", "host_amd64_type.stef.go")
	f("HostLinuxAmd64", "host_linux_amd64_type.stef.go")
	f("UnitTest", "unit_test.stef.go")
}

func TestLastPart(t *testing.T) {
	f := func(dotted, want string) {
		t.Helper()
		require.Equal(t, want, lastPart(dotted))
	}
	f("otel", "otel")
	f("com.example.otel", "otel")
}

func TestDocs(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		require.Equal(t, want, got)
	}
	f(docOr("", "X is."), "X is.")
	f(docOr(" Y is.\n", "X is."), "Y is.")
	f(prefixed("Color", "red", ""), "ColorRed is red.")
	f(prefixed("Color", "red", "red is warm."), "ColorRed is warm.")
	f(prefixed("Color", "red", "Warm."), "ColorRed: Warm.")
	f(prefixed("Color", "red", "reddish."), "ColorRed: reddish.")
	f(getterDoc("Name", "name", ""), "Name returns the field.")
	f(getterDoc("Name", "name", "name is what it says."), "Name is what it says.")
	f(getterDoc("Name", "name", "What it says."), "Name returns the field: What it says.")
}

// TestInternalNamesAreAllListed checks the generated code of every fixture: an unexported field
// or method either comes from a field of the schema, or has a name that fieldName reserves.
func TestInternalNamesAreAllListed(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/schema.stef")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	found := map[string]bool{}
	for _, path := range paths {
		for name := range privateNames(t, path) {
			found[name] = true
			require.True(t, internal[name], "%s: %s is declared in generated code and not in internal", path, name)
		}
	}
	unused := maps.Clone(internal)
	maps.DeleteFunc(unused, func(name string, _ bool) bool { return found[name] })
	require.Empty(t, slices.Sorted(maps.Keys(unused)), "no field or method has these names any more")
}

// privateNames returns the names of fields and methods of the generated structs
// that do not come from the schema.
func privateNames(t *testing.T, path string) map[string]bool {
	t.Helper()
	src, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := idl.Parse(path, src)
	require.NoError(t, err)
	// own contains the types that have fields of the schema. Writers, readers and pairs do not
	// have such fields.
	own := map[string]bool{}
	for _, st := range s.Structs {
		own[st.Name], own[private(st.Name)+"Box"] = true, true
		own[private(st.Name)+"Encoder"], own[private(st.Name)+"Decoder"] = true, true
	}
	names := map[string]bool{}
	add := func(typ, name string) {
		if own[typ] && !ast.IsExported(name) {
			names[name] = true
		}
	}
	files, err := Generate(s, Options{Source: "schema.stef"})
	require.NoError(t, err)
	for _, f := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Content, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			eachMember(decl, add)
		}
	}
	for _, st := range s.Structs {
		for _, f := range st.Fields {
			// A schema field with the name of an internal field gets another name.
			if name := fieldName(f.Name); !internal[name] {
				delete(names, name)
				delete(names, name+"Sent")
			}
		}
	}
	return names
}

// eachMember calls add with the methods and struct fields of a declaration.
func eachMember(decl ast.Decl, add func(typ, name string)) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			add(receiver(d), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			typ, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			st, ok := typ.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range st.Fields.List {
				for _, name := range field.Names {
					add(typ.Name.Name, name.Name)
				}
			}
		}
	}
}
