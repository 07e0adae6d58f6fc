// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// direct lists what the product code of a package may import. The standard library is always
// allowed, and so are the sub-packages of a package whose name ends in "/...". The first line that
// matches a package is its rule. A package without a matching line is a problem: the architecture
// does not cover it yet.
//
// Names on the right are folders of this repository. A name with a dot in the first element, or
// from the list of nicknames, is an external package with all its sub-packages. * stands for any
// package.
const direct = `
stef-spec                     ->
stef-go/bitio                 ->
stef-go/schema                ->
stef-go/idl                   -> stef-go/schema
stef-go/column                -> stef-go/bitio
stef-go/internal/config       -> stef-go/schema
stef-go                       -> stef-go/schema stef-go/internal/config stef-go/codec
stef-go/codec                 -> stef-go/bitio stef-go/column
stef-go/internal/frame        -> stef-go stef-go/internal/config stef-go/schema stef-go/bitio stef-go/column zstd
stef-go/stefrt                -> stef-go stef-go/schema stef-go/bitio stef-go/codec stef-go/column stef-go/internal/config stef-go/internal/frame
stef-go/list                  -> stef-go/stefrt
stef-go/dynamic               -> stef-go/schema zstd
stef-go/dynamic/plain         -> stef-go/schema stef-go/dynamic
stef-go/annotate              -> stef-go/schema stef-go/dynamic stef-go/dynamic/plain
stef-go/internal/compact      -> stef-go/codec
stef-go/otelstef              -> stef-go stef-go/internal/compact stef-go/schema stef-go/idl stef-go/codec stef-go/stefrt stef-go/list
stef-go/rotate                -> stef-go
stef-go/steftest              -> stef-go stef-go/schema stef-go/dynamic stef-go/stefrt stef-go/internal/frame

stef-gogrpc/stefpb            -> protobuf
stef-gogrpc/internal/wire     -> stef-gogrpc/stefpb grpc
stef-gogrpc/internal/ledger   -> stef-gogrpc/internal/wire
stef-gogrpc/internal/session  -> stef-gogrpc/internal/ledger stef-gogrpc/internal/wire
stef-gogrpc                   -> stef-go stef-go/schema stef-gogrpc/stefpb stef-gogrpc/internal/ledger stef-gogrpc/internal/session stef-gogrpc/internal/wire internal/grpcstatus internal/readyread protobuf grpc genproto
stef-pdata/internal/features  -> stef-go/otelstef
stef-pdata/internal/mapping   -> stef-go stef-go/codec stef-go/otelstef
stef-pdata/stefotlp           -> stef-go stef-go/codec stef-go/otelstef stef-pdata/internal/features stef-pdata/internal/mapping
stef-pdata/internal/values     -> stef-go stef-go/otelstef stef-pdata/internal/mapping pdata
stef-pdata/internal/order      -> stef-go/codec stef-go/otelstef pdata
stef-pdata/internal/intern     -> stef-go stef-go/codec stef-go/otelstef stef-pdata/internal/mapping stef-pdata/internal/order stef-pdata/internal/values pdata
stef-pdata/internal/slab       -> pdata
stef-pdata/internal/template   -> stef-go stef-go/codec stef-go/otelstef stef-pdata/internal/mapping pdata
stef-pdata/internal/items      -> stef-go stef-go/otelstef stef-pdata/internal/features stef-pdata/internal/mapping stef-pdata/internal/values stef-pdata/internal/intern stef-pdata/internal/template pdata
stef-pdata/internal/build      -> stef-go stef-go/otelstef stef-pdata/internal/features stef-pdata/internal/mapping stef-pdata/internal/slab stef-pdata/internal/template pdata
stef-pdata                    -> stef-go stef-go/otelstef stef-pdata/internal/... pdata
exporter/stefexporter/internal/metadatatest -> collector otel testify
exporter/...                  -> stef-go stef-gogrpc internal/backoff internal/signal internal/streamconf internal/confkeys internal/grpcheader internal/streamerr stef-pdata collector grpc zap otel
receiver/stefreceiver/internal/metadatatest -> collector otel testify
receiver/steffilereceiver/internal/metadatatest -> collector otel testify
receiver/steffilereceiver     -> stef-go stef-go/rotate internal/backoff internal/fanout internal/injected internal/messages internal/signal internal/streamconf internal/confkeys stef-pdata collector zap otel receiver/steffilereceiver/internal/metadata
receiver/...                  -> stef-go stef-gogrpc internal/fanout internal/grpcstatus internal/injected internal/http1 internal/readyread internal/signal internal/confkeys stef-pdata collector grpc protobuf genproto zap otel zstd

extension/stefencodingextension/internal/metadatatest -> collector otel testify
extension/...                 -> stef-go stef-go/schema internal/signal internal/streamconf internal/confkeys stef-pdata collector otel zap contribencoding

sdk/internal/sdktest          -> *
sdk/internal/study            -> *
sdk/internal/records          -> stef-go stef-go/list stef-go/otelstef otel
sdk/...                       -> stef-go stef-go/otelstef stef-go/rotate stef-go/schema stef-gogrpc internal/grpcheader internal/streamerr grpc otel autoexport

lake                          -> lake/internal/columnfile pdata arrow
lake/internal/columnfile      -> arrow zstd
internal/enginetest           ->
internal/enginetest/collector -> *
internal/stefgen              -> stef-go/schema
internal/backoff              -> collector
internal/confkeys             ->
internal/cputime              ->
internal/fanout               -> collector
internal/grpcheader           ->
internal/grpcstatus           -> grpc genproto
internal/http1                ->
internal/injected             -> collector otel zap
internal/messages             -> stef-go
internal/streamconf           -> stef-go internal/confkeys stef-pdata
internal/streamerr            -> stef-gogrpc
internal/signal               -> internal/streamconf stef-go stef-go/schema stef-go/otelstef stef-pdata pdata grpc protobuf
internal/signal/anysignal     -> internal/signal internal/otlpfile stef-go stef-pdata pdata grpc
internal/teltest              -> internal/fixtures internal/teltest/benchdata
internal/teltest/alerts       -> collector testify
internal/teltest/benchdata    ->
internal/teltest/canon        -> internal/otlpfile pdata
internal/teltest/injecting    -> collector otel zap
internal/teltest/rawgrpc      -> xnet
internal/teltest/randtel      -> pdata
internal/otlpfile             -> pdata zstd
internal/replay               -> internal/otlpfile internal/signal internal/signal/anysignal stef-go stef-gogrpc stef-pdata pdata grpc
internal/readyread            -> grpc
internal/netfault             ->
internal/diskfault            ->
internal/freeport             ->
internal/arch                 ->
internal/docs                 ->
internal/walks                -> stef-go stef-go/otelstef stef-pdata exporter/stefexporter receiver/stefreceiver collector pdata
internal/pairtest             ->
internal/e2e                  ->
internal/fixtures/record/...  -> *
internal/interop/...          -> *
internal/fixtures/recordings  -> internal/fixtures
internal/fixtures             -> zstd
cmd/stefc                     -> stef-go/schema stef-go/idl internal/stefgen
cmd/...                       -> *
benchmarks/...                -> *
tools/...                     -> *
`

// reach lists the external packages that a package may depend on through any
// packages of this repository, in addition to the standard library.
const reach = `
stef-spec     ->
stef-go/...   -> zstd
cmd/stefc     ->
stef-gogrpc   -> zstd grpc protobuf genproto
stef-pdata    -> zstd pdata
`

// never is the table of imports that a package must not reach, not even through other packages of
// this repository. It has priority over the tables above. Only the table except has priority over it.
const never = `
stef-go/dynamic  -> stef-go/bitio stef-go/codec stef-go/column stef-go/stefrt stef-go/internal/frame
stef-go/dynamic/plain -> stef-go/internal/compact stef-go/otelstef
internal/stefgen -> stef-go/stefrt
stef-gogrpc/...  -> stef-go/otelstef pdata
stef-pdata       -> grpc
exporter/...     -> receiver/...
receiver/...     -> exporter/...
cmd/stef         -> exporter/... receiver/...
sdk/internal/records -> grpc pdata
sdk/steftrace    -> pdata collector
sdk/stefmetric   -> pdata collector
sdk/steflog      -> pdata collector
cmd/stefc        -> exporter/... receiver/...

stef-go/...      -> benchmarks/... internal/teltest/...
stef-gogrpc/...  -> benchmarks/... internal/teltest/... stef-go/steftest
stef-pdata/...   -> benchmarks/... internal/teltest/... stef-go/steftest
exporter/...     -> benchmarks/... internal/teltest/... stef-go/steftest
receiver/...     -> benchmarks/... internal/teltest/... stef-go/steftest
lake             -> stef-go stef-pdata benchmarks/... internal/teltest/...
cmd/...          -> benchmarks/... internal/teltest/... stef-go/steftest
internal/...     -> benchmarks/...
`

// except lists what a package may reach although the table never forbids it. The demo compares the
// content of batches as tests do.
const except = `
cmd/stefdemo     -> internal/teltest/canon
`

var nicknames = map[string]string{
	"zstd":      "github.com/klauspost/compress/zstd",
	"genproto":  "google.golang.org/genproto/googleapis/rpc",
	"grpc":      "google.golang.org/grpc",
	"protobuf":  "google.golang.org/protobuf",
	"pdata":     "go.opentelemetry.io/collector/pdata",
	"collector": "go.opentelemetry.io/collector",
	"zap":       "go.uber.org/zap",
	"xnet":      "golang.org/x/net",

	"arrow":           "github.com/apache/arrow-go/v18",
	"contribencoding": "github.com/open-telemetry/opentelemetry-collector-contrib/extension/encoding",
	"otel":            "go.opentelemetry.io/otel",
	"autoexport":      "go.opentelemetry.io/contrib/exporters/autoexport",
	"testify":         "github.com/stretchr/testify",
}

type rule struct {
	pattern string
	names   []string
}

func rules(table string) []rule {
	var list []rule
	for line := range strings.Lines(table) {
		left, right, ok := strings.Cut(line, "->")
		if ok {
			list = append(list, rule{strings.TrimSpace(left), strings.Fields(right)})
		}
	}
	return list
}

// fits reports whether name, a folder or import path, matches a pattern of a table.
func fits(name, pattern string) bool {
	if long, ok := nicknames[pattern]; ok {
		pattern = long + "/..."
	}
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == tree || strings.HasPrefix(name, tree+"/")
	}
	return pattern == "*" || name == pattern
}

func fitsAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(name, p) })
}

type pack struct {
	name    string
	doc     string
	imports []string // our folders and external import paths, nothing from the standard library
}

// packages reads the packages of a repository by folder. It ignores build
// constraints, so every rule holds on every platform.
func packages(t *testing.T, files []file) map[string]*pack {
	t.Helper()
	packs := map[string]*pack{}
	for _, f := range files {
		if !f.goSource() || f.goTest() || f.testdata() {
			continue
		}
		src, err := parser.ParseFile(token.NewFileSet(), f.path, f.data, parser.ImportsOnly|parser.ParseComments)
		require.NoError(t, err)
		p := packs[f.dir()]
		if p == nil {
			p = &pack{name: src.Name.Name}
			packs[f.dir()] = p
		}
		p.doc += src.Doc.Text()
		p.imports = append(p.imports, foreign(t, src)...)
	}
	for _, p := range packs {
		slices.Sort(p.imports)
		p.imports = slices.Compact(p.imports)
	}
	return packs
}

func foreign(t *testing.T, src *ast.File) []string {
	t.Helper()
	var names []string
	for _, spec := range src.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		first, _, _ := strings.Cut(name, "/")
		ours, ok := strings.CutPrefix(name, module+"/")
		switch {
		case ok:
			names = append(names, ours)
		case strings.Contains(first, "."):
			names = append(names, name)
		}
	}
	return names
}

func imports(packs map[string]*pack, direct, reach, never, except []rule) []string {
	var problems []string
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, dir := range slices.Sorted(maps.Keys(packs)) {
		at := slices.IndexFunc(direct, func(r rule) bool { return fits(dir, r.pattern) })
		if at < 0 {
			report("%s: no rule says what it may import", dir)
			continue
		}
		own := strings.HasSuffix(direct[at].pattern, "/...")
		for _, name := range packs[dir].imports {
			if !fitsAny(name, direct[at].names) && !(own && fits(name, direct[at].pattern)) {
				report("%s: imports %s", dir, name)
			}
		}
		via := reached(packs, dir)
		for _, name := range slices.Sorted(maps.Keys(via)) {
			_, ours := packs[name]
			for _, r := range reach {
				if !ours && fits(dir, r.pattern) && !fitsAny(name, r.names) {
					report("%s: depends on %s by way of %s", dir, name, via[name])
				}
			}
			excepted := slices.ContainsFunc(except, func(r rule) bool { return fits(dir, r.pattern) && fitsAny(name, r.names) })
			for _, r := range never {
				if !excepted && fits(dir, r.pattern) && fitsAny(name, r.names) {
					report("%s: must not depend on %s, but does by way of %s", dir, name, via[name])
				}
			}
		}
	}
	return problems
}

// unused reports rules without a package, and names in rules that no package
// imports.
func unused(packs map[string]*pack, direct []rule) []string {
	var problems []string
	made := map[string]bool{}
	for dir, p := range packs {
		at := slices.IndexFunc(direct, func(r rule) bool { return fits(dir, r.pattern) })
		if at < 0 {
			continue
		}
		made[direct[at].pattern] = true
		for _, name := range p.imports {
			for _, allowed := range direct[at].names {
				if fits(name, allowed) {
					made[direct[at].pattern+" "+allowed] = true
				}
			}
		}
	}
	for _, r := range direct {
		if !made[r.pattern] {
			problems = append(problems, r.pattern+": a rule without a package")
			continue
		}
		for _, allowed := range r.names {
			if allowed != "*" && !made[r.pattern+" "+allowed] {
				problems = append(problems, fmt.Sprintf("%s: may import %s, and does not; take it out of the table", r.pattern, allowed))
			}
		}
	}
	return problems
}

// reached maps every dependency of a package to one package that imports it.
func reached(packs map[string]*pack, dir string) map[string]string {
	via := map[string]string{}
	queue := []string{dir}
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		if packs[from] == nil {
			continue
		}
		for _, name := range packs[from].imports {
			if via[name] == "" {
				via[name] = from
				queue = append(queue, name)
			}
		}
	}
	return via
}

func docs(packs map[string]*pack) []string {
	var problems []string
	for _, dir := range slices.Sorted(maps.Keys(packs)) {
		p := packs[dir]
		if p.name == "main" && p.doc == "" {
			problems = append(problems, dir+": no package comment")
		}
		if want := "Package " + p.name + " "; p.name != "main" && !strings.HasPrefix(p.doc, want) {
			problems = append(problems, fmt.Sprintf("%s: the package comment does not begin with %q", dir, want))
		}
	}
	return problems
}

func TestImports(t *testing.T) {
	none(t, imports(packages(t, repo(t)), rules(direct), rules(reach), rules(never), rules(except)))
}

func TestImportsAreMade(t *testing.T) { none(t, unused(packages(t, repo(t)), rules(direct))) }

func TestDocs(t *testing.T) { none(t, docs(packages(t, repo(t)))) }

func TestImportsBite(t *testing.T) {
	const direct = "a -> b zstd\nb ->\nc/... -> a\nd -> *\n"
	f := func(wants []string, reach, never string, pairs ...string) {
		t.Helper()
		for i := 1; i < len(pairs); i += 2 {
			pairs[i] = "package x\n\nimport (\n\t\"fmt\"\n" + pairs[i] + "\n)\n"
		}
		got := imports(packages(t, sample(t, pairs...)), rules(direct), rules(reach), rules(never), rules("c/e -> a\n"))
		require.Equal(t, wants, got)
	}
	ours := func(name string) string { return strconv.Quote(module + "/" + name) }

	f(nil, "", "", "a/a.go", ours("b")+`; "github.com/klauspost/compress/zstd"`, "b/b.go", "", "c/d/e.go", ours("a")+";"+ours("c"))
	f([]string{"b: imports a"}, "", "", "b/b.go", ours("a"))
	f([]string{"a: imports example.com/x"}, "", "", "a/a.go", `"example.com/x"`)
	f([]string{"b: imports b/c", "b/c: no rule says what it may import"}, "", "", "b/b.go", ours("b/c"), "b/c/c.go", "")
	f(nil, "", "", "b/b_test.go", ours("a"), "b/testdata/x/x.go", ours("a"))
	f([]string{"a: imports github.com/klauspost/compress/zstdx"}, "", "", "a/a.go", `"github.com/klauspost/compress/zstdx"`)

	f([]string{"d: depends on example.com/x by way of d"}, "d -> zstd", "",
		"d/d.go", ours("a")+`; "example.com/x"`, "a/a.go", `"github.com/klauspost/compress/zstd"`)
	f([]string{"d: depends on github.com/klauspost/compress/zstd by way of a"}, "d ->", "",
		"d/d.go", ours("a"), "a/a.go", `"github.com/klauspost/compress/zstd"`)
	f([]string{"d: must not depend on b, but does by way of a"}, "", "d -> b/...", "d/d.go", ours("a"), "a/a.go", ours("b"), "b/b.go", "")
	f([]string{"c/d: must not depend on a, but does by way of c/d"}, "", "c/... -> a/...",
		"c/d/d.go", ours("a"), "c/e/e.go", ours("a"), "a/a.go", "") // c/e is an exception
}

func TestImportsAreMadeBites(t *testing.T) {
	f := func(wants []string, direct string, pairs ...string) {
		t.Helper()
		require.Equal(t, wants, unused(packages(t, sample(t, pairs...)), rules(direct)))
	}
	code := "package a\n\nimport \"" + module + "/b\"\n"
	f(nil, "a -> b\nb/... -> *\n", "a/a.go", code, "b/c/c.go", "package c\n")
	f([]string{"a: may import zstd, and does not; take it out of the table"}, "a -> b zstd\n", "a/a.go", code)
	f([]string{"c: a rule without a package"}, "a -> b\nc -> b\n", "a/a.go", code)
}

func TestDocsBite(t *testing.T) {
	f := func(want int, pairs ...string) {
		t.Helper()
		require.Len(t, docs(packages(t, sample(t, pairs...))), want)
	}
	f(0, "a/a.go", "// Package a does it.\npackage a\n", "a/b.go", "package a\n", "a/a_test.go", "package a\n")
	f(0, "cmd/stef/main.go", "// Command stef does it.\npackage main\n")
	f(1, "a/a.go", "package a\n")
	f(1, "a/a.go", "// Copyright\n\npackage a\n")
	f(1, "a/a.go", "// Package b does it.\npackage a\n")
	f(1, "cmd/stef/main.go", "package main\n")
}
