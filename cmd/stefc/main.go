// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Stefc is the STEF schema compiler: it reads a .stef file and writes Go code
// that encodes and decodes its records.
//
//	stefc [-out dir] [-package name] [-base Root=N,N,...]... [-against old.stef] [-ignore text]... [-replace] [-check] [-form more.stef] [-header file] file.stef
//	stefc -numbers file.stef
//	stefc -version
//
// It writes one or more files per type. Their names begin with the name of the type and end
// in .stef.go. Stefc removes the generated files of earlier runs that are no longer needed,
// and does not rewrite unchanged files. It prints only warnings and errors. It
// warns if the new code misreads streams that the code in the folder has written. It is an error if
// the new code misreads streams that have the schema of -against. With -check it writes nothing.
//
// Exit codes: 0 done, 1 the schema is wrong or does not fit -against or the folder, 2 the
// flags are wrong, 3 a file cannot be read or written.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/otelstef/stef/internal/stefgen"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// module returns the version of the module that the go command recorded.
func module() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

const (
	exitSchema = 1
	exitUsage  = 2
	exitIO     = 3
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

type settings struct {
	out, pkg, form, against, header string
	base                            baseFlag
	ignore                          textsFlag
	replace, check                  bool
	numbers, version                bool
}

func (o *settings) register(flags *flag.FlagSet) {
	o.base = baseFlag{}
	flags.StringVar(&o.out, "out", ".", "`folder` to write to; use another one for each schema")
	flags.StringVar(&o.pkg, "package", "", "Go package `name`; default the last part of the schema's package")
	flags.Var(o.base, "base", "for streams that announce no schema, how many fields each struct has, as `Root=N,N,...`; white space separates roots; default the whole schema")
	flags.StringVar(&o.against, "against", "", "older schema `file`: write nothing and exit with 1 if the new code misreads streams of this schema")
	flags.Var(&o.ignore, "ignore", "do not print warnings about the schema that contain this `text`; may be repeated")
	flags.BoolVar(&o.check, "check", false, "print warnings and errors, also about changes since the code in -out, and write nothing; -against reports breaking changes as errors")
	flags.BoolVar(&o.replace, "replace", false, "replace the code in the folder even if it is the code of other roots")
	flags.StringVar(&o.form, "form", "", "schema `file` with additional fields, for another wire form of the same records")
	flags.BoolVar(&o.numbers, "numbers", false, "print the numbers of fields of each root, as -base accepts them, and exit")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	flags.StringVar(&o.header, "header", "", "text `file` with the licence text for the top of each file; default none")
}

// run runs stefc and returns its exit code. A script may use the output, for example for -base, so
// output that cannot be written is a failure.
func run(args []string, stdout, stderr io.Writer) int {
	out := bufio.NewWriter(stdout)
	code := runFlags(args, out, stderr)
	if err := out.Flush(); err != nil && code == 0 {
		fmt.Fprintln(stderr, "stefc: standard output:", err)
		return exitIO
	}
	return code
}

func runFlags(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("stefc", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var o settings
	o.register(flags)
	flags.Usage = func() {} // an error of a flag is one line, without the usage
	paths, err := parseFlags(flags, args)
	if errors.Is(err, flag.ErrHelp) || len(paths) == 1 && paths[0] == "help" {
		usage(stdout, flags)
		return 0
	}
	if err != nil {
		return misused(stderr, flagText(err))
	}
	if o.version || len(paths) == 1 && paths[0] == "version" {
		fmt.Fprintf(stdout, "stefc %s, %s %s/%s\n", module(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return 0
	}
	switch {
	case len(paths) == 0:
		return misused(stderr, "the schema file is missing")
	case len(paths) > 1:
		return misused(stderr, fmt.Sprintf("one schema file is needed, found %d arguments: %s", len(paths), strings.Join(paths, " ")))
	}
	if o.numbers {
		return numbers(paths[0], stdout, stderr)
	}
	if o.pkg != "" && !token.IsIdentifier(o.pkg) {
		fmt.Fprintf(stderr, "stefc: -package: %q is not a Go package name\n", o.pkg)
		return exitUsage
	}
	return generate(paths[0], o, stderr)
}

// numbers prints the wire schemas of the roots of the schema at path, one line for each root.
func numbers(path string, stdout, stderr io.Writer) int {
	s, _, code := parse(path, stderr)
	if code != 0 {
		return code
	}
	if len(s.Roots()) == 0 {
		fmt.Fprintf(stderr, "stefc: -numbers: %s has no root struct\n", path)
		return exitSchema
	}
	for _, r := range s.Roots() {
		fmt.Fprintf(stdout, "%s=%s\n", r.Name, schema.WireOf(r).Text())
	}
	return 0
}

func misused(stderr io.Writer, what string) int {
	fmt.Fprintf(stderr, "stefc: %s; stefc -help lists the flags\n", what)
	return exitUsage
}

func generate(path string, o settings, stderr io.Writer) int {
	src, code := read(path, stderr)
	if code != 0 {
		return code
	}
	options := stefgen.Options{Package: o.pkg, Source: filepath.Base(path), Base: o.base}
	if options.Header, code = headerText(o.header, stderr); code != 0 {
		return code
	}
	var form *formFile
	if o.form != "" {
		form = &formFile{path: o.form}
		if form.schema, form.src, code = parse(o.form, stderr); code != 0 {
			return code
		}
		options.Form = form.schema
	}
	old := generatedSchema(o.out)
	s, hint, code := parseMain(path, src, form, old, o, stderr)
	if code != 0 {
		return code
	}
	now := s
	if form != nil {
		now = schema.Extend(s, form.schema)
	}
	// Compare before -base is checked: the error of -base about a moved field has only
	// numbers.
	var reported renaming
	var older *schema.Schema
	if o.against != "" {
		if older, reported, code = against(stderr, path, o.against, options.Form, now); code != 0 {
			return code
		}
	}
	if old != nil {
		warnOfChanges(stderr, path, o.out, old.whole, now)
		if root := renamedRoot(old.whole, now); root != reported {
			root.warn(stderr, path)
		}
		if older == nil {
			older = old.plain
		}
	}
	if older != nil {
		render(stderr, without(newEnums(path, older, s), o.ignore), src)
	}
	files, code := compile(path, o.out, src, s, form, options, stderr)
	if code != 0 {
		return code
	}
	if old != nil {
		warnOfBases(stderr, path, o.out, old.plain, now, files)
	}
	fmt.Fprint(stderr, hint) // below all warnings
	if o.check {
		return checked(o, old, stderr)
	}
	if err := fits(o.out, files[0]); err != nil {
		fmt.Fprintln(stderr, "stefc:", err)
		return exitUsage
	}
	if err := write(o.out, files); err != nil {
		fmt.Fprintln(stderr, "stefc:", err)
		return exitIO
	}
	return 0
}

// headerText returns the text of -header, or "" if there is none. On failure it reports the error
// and returns the exit code.
func headerText(path string, stderr io.Writer) (string, int) {
	if path == "" {
		return "", 0
	}
	text, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintln(stderr, "stefc:", err)
		return "", exitIO
	}
	if what := notPlain(text); what != "" {
		fmt.Fprintf(stderr, "stefc: -header: %s %s\n", path, what)
		return "", exitUsage
	}
	return string(text), 0
}

// checked returns the exit code of a run with -check. It prints a note if there was no schema
// to compare with, for example because -out was forgotten.
func checked(o settings, old *generated, stderr io.Writer) int {
	if old == nil && o.against == "" {
		fmt.Fprintf(stderr, "stefc: there is no generated code in %s, so nothing was compared: this is expected before the first run without -check; otherwise pass the folder of the code with -out, or the old schema with -against\n", filepath.Clean(o.out))
	}
	return 0
}

// notPlain returns why a text cannot be put in comments, or "" if it can.
func notPlain(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return "begins with a byte order mark: save it as UTF-8 without one"
	case !utf8.Valid(text) || bytes.ContainsRune(text, 0):
		return "is not UTF-8: save it as UTF-8"
	case bytes.HasPrefix(bytes.TrimSpace(text), []byte("/*")):
		return "has a comment between /* and */: remove these marks, stefc writes the text in lines with //"
	}
	return ""
}

func usage(stdout io.Writer, flags *flag.FlagSet) {
	fmt.Fprintln(stdout, "usage: stefc [FLAG]... FILE.stef")
	flags.SetOutput(stdout)
	flags.PrintDefaults()
}

// parseFlags parses flags and arguments in any order, and returns the arguments. Everything
// after "--" is an argument.
func parseFlags(flags *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		parsed := args[:len(args)-flags.NArg()]
		if args = flags.Args(); len(args) == 0 || len(parsed) > 0 && parsed[len(parsed)-1] == "--" {
			return append(rest, args...), nil
		}
		rest, args = append(rest, args[0]), args[1:]
	}
}

// otherFlags maps names that users may try first to the flags of stefc.
var otherFlags = map[string]string{
	"o": "out", "output": "out", "output-dir": "out", "outdir": "out", "dir": "out", "d": "out",
	"p": "package", "pkg": "package", "licence": "header", "license": "header", "v": "version",
	"dry-run": "check", "n": "check",
}

// flagText returns the text of an error of package flag. For an unknown flag it suggests
// the flag that the user probably meant.
func flagText(err error) string {
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return err.Error()
	}
	if meant := otherFlags[strings.TrimPrefix(name, "-")]; meant != "" {
		return fmt.Sprintf("there is no flag -%s, did you mean -%s?", name, meant)
	}
	return "there is no flag -" + name
}

type baseFlag map[string]schema.WireSchema

func (b baseFlag) String() string { return "" }

// Set adds the values of one or more roots.
func (b baseFlag) Set(v string) error {
	bases, err := schema.ParseWireTexts(v)
	for root, w := range bases {
		if b[root] != nil {
			return fmt.Errorf("root %s is set twice", root)
		}
		b[root] = w
	}
	return err
}

// textsFlag collects the values of a flag that may be repeated.
type textsFlag []string

func (f *textsFlag) String() string { return "" }

// Set adds one value.
func (f *textsFlag) Set(v string) error {
	if v == "" {
		return errors.New("must not be empty")
	}
	*f = append(*f, v)
	return nil
}

// read returns the text of a schema. On failure it reports the error and returns the exit code.
func read(path string, stderr io.Writer) ([]byte, int) {
	src, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintln(stderr, "stefc:", err)
		return nil, exitIO
	}
	if bytes.HasPrefix(src, []byte("STEF")) {
		fmt.Fprintf(stderr, "stefc: %s is a STEF stream, not a schema; stef cat prints its records\n", path)
		return nil, exitSchema
	}
	return src, 0
}

// parse reads a schema and returns it with its text. On failure it reports the error and
// returns the exit code.
func parse(path string, stderr io.Writer) (*schema.Schema, []byte, int) {
	src, code := read(path, stderr)
	if code != 0 {
		return nil, nil, code
	}
	s, err := idl.Parse(path, src)
	if err != nil {
		report(stderr, path, src, err)
		return nil, nil, exitSchema
	}
	return s, src, 0
}

// parseMain reads the schema to generate code from, and checks the form, if it is not nil. It
// prints the warnings, except those that contain a text of -ignore. hint is the line to print
// below all warnings, or "". old is the code in the folder, or nil. On failure it reports the
// error and returns the exit code.
func parseMain(path string, src []byte, form *formFile, old *generated, o settings, stderr io.Writer) (s *schema.Schema, hint string, code int) {
	s, warnings, err := idl.ParseWithWarnings(path, src)
	if err == nil && len(s.Roots()) == 0 {
		// Nothing can be generated, so the warning about the root is an error, and other warnings
		// do not matter yet.
		warnings = slices.DeleteFunc(warnings, aboutReference)
		for i := range warnings {
			warnings[i].Warning = false
		}
		render(stderr, warnings, src)
		return nil, "", exitSchema
	}
	if err == nil {
		// Report this error without the warnings: no code is written, so they do not matter yet.
		if err := otherRoots(path, o.out, old, s); err != nil && !o.replace && !o.check {
			fmt.Fprintln(stderr, "stefc:", err)
			return nil, "", exitSchema
		}
		warnings = append(warnings, pluralNames(path, s)...)
		warnings = append(warnings, methodNames(path, s)...)
		warnings = append(warnings, otherCase(path, s)...)
		byLine(warnings)
		// If the schema has errors, which compile reports, it must change first. Until then, it
		// does not matter whether another implementation can use it.
		if stefgen.Check(s, stefgen.Options{Package: o.pkg}) != nil {
			warnings = slices.DeleteFunc(warnings, aboutReference)
		}
	}
	warnings = without(warnings, o.ignore)
	render(stderr, warnings, src)
	if err != nil {
		report(stderr, path, src, err)
		return nil, "", exitSchema
	}
	if form != nil {
		if list := checkForm(path, s, form); len(list) > 0 {
			render(stderr, list, form.src)
			return nil, "", exitSchema
		}
		if whole, err := checkWhole(path, s, form); err != nil {
			report(stderr, path, whole, err)
			return nil, "", exitSchema
		}
	}
	if slices.ContainsFunc(warnings, aboutReference) {
		hint = fmt.Sprintf("stefc: -ignore %q hides the warnings about it\n", referenceImplementation)
	}
	return s, hint, 0
}

// referenceImplementation is the text that all warnings about the reference implementation contain.
const referenceImplementation = "reference implementation"

func aboutReference(d idl.Diagnostic) bool {
	return strings.Contains(d.Message, referenceImplementation)
}

func without(warnings idl.Diagnostics, ignore []string) idl.Diagnostics {
	return slices.DeleteFunc(warnings, func(d idl.Diagnostic) bool {
		return slices.ContainsFunc(ignore, func(text string) bool { return strings.Contains(d.Message, text) })
	})
}

// compile generates files for the folder out from a schema, whose text is src, and its
// form, if form is not nil. On failure it reports the error and returns the exit code.
func compile(path, out string, src []byte, s *schema.Schema, form *formFile, options stefgen.Options, stderr io.Writer) ([]stefgen.File, int) {
	for _, root := range slices.Sorted(maps.Keys(options.Base)) {
		r := s.Root(root)
		if r == nil {
			fmt.Fprintf(stderr, "stefc: -base names %s, which is not a root of %s%s\n", root, path, meantRoot(out, s, root))
			return nil, exitUsage
		}
		if _, err := schema.Keep(r, options.Base[root]); err != nil {
			fmt.Fprintf(stderr, "stefc: -base of %s: %v; the whole schema is %s=%s%s\n", root, err, root, schema.WireOf(r).Text(), generatedBase(out, r))
			return nil, exitUsage
		}
	}
	files, err := stefgen.Generate(s, options)
	if err != nil {
		refused(stderr, path, src, form, err)
		return nil, exitSchema
	}
	return files, 0
}
