// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Stefc is the STEF schema compiler: it reads a .stef file and writes Go code
// that encodes and decodes its records.
//
//	stefc [-out dir] [-package name] [-base Root=N,N,...]... file.stef
//
// It writes one file a type, named after it with the ending .stef.go, removes
// files of that ending that it did not write, and says nothing unless there is
// something to say. Exit codes: 0 done, 1 the schema is wrong, 2 the flags are,
// 3 a file cannot be read or written.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/otelstef/stef/internal/stefgen"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

const (
	exitSchema = 1
	exitUsage  = 2
	exitIO     = 3
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("stefc", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", ".", "`folder` to write to")
	pkg := flags.String("package", "", "Go package `name`; default the last part of the schema's package")
	base := map[string]schema.WireSchema{}
	flags.Func("base", "wire schema of streams that announce none, as `Root=N,N,...`; default the whole schema", func(v string) error {
		root, counts, ok := strings.Cut(v, "=")
		if !ok {
			return errors.New("not of the form Root=N,N,...")
		}
		for _, c := range strings.Split(counts, ",") {
			n, err := strconv.Atoi(c)
			if err != nil {
				return err
			}
			base[root] = append(base[root], n)
		}
		return nil
	})
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: stefc [flags] file.stef")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return exitUsage
	}
	if flags.NArg() != 1 {
		flags.Usage()
		return exitUsage
	}
	path := flags.Arg(0)
	src, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintln(stderr, "stefc:", err)
		return exitIO
	}
	files, ok := compile(path, src, stefgen.Options{Package: *pkg, Source: filepath.Base(path), Base: base}, stderr)
	if !ok {
		return exitSchema
	}
	if err := write(*out, files); err != nil {
		fmt.Fprintln(stderr, "stefc:", err)
		return exitIO
	}
	return 0
}

func compile(path string, src []byte, options stefgen.Options, stderr io.Writer) ([]stefgen.File, bool) {
	s, warnings, err := idl.ParseWithWarnings(path, src)
	if len(warnings) > 0 {
		fmt.Fprint(stderr, warnings.Render(src))
	}
	var diagnostics idl.Diagnostics
	if errors.As(err, &diagnostics) {
		fmt.Fprint(stderr, diagnostics.Render(src))
		return nil, false
	}
	if err != nil {
		fmt.Fprintln(stderr, "stefc:", err)
		return nil, false
	}
	for root, wire := range options.Base {
		r := s.Root(root)
		if r == nil {
			fmt.Fprintf(stderr, "stefc: -base names %s, which is no root of %s\n", root, path)
			return nil, false
		}
		if _, err := schema.Keep(r, wire); err != nil {
			fmt.Fprintf(stderr, "stefc: -base of %s: %v\n", root, err)
			return nil, false
		}
	}
	files, err := stefgen.Generate(s, options)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", path, err)
		return nil, false
	}
	return files, true
}

// write writes the files that changed, and removes generated ones that are no
// longer made.
func write(dir string, files []stefgen.File) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	made := map[string]bool{}
	for _, f := range files {
		made[f.Name] = true
		path := filepath.Join(dir, f.Name)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, f.Content) {
			continue
		}
		if err := os.WriteFile(path, f.Content, 0o666); err != nil {
			return err
		}
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.stef.go"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if !made[filepath.Base(path)] {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}
