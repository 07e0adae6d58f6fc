// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/messages"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// maxDiagnostics is the maximum number of errors in a schema that are printed.
const maxDiagnostics = 10

// loadRoots returns the roots of --schema, with the schemas of --base.
func (o *opener) loadRoots() (stream.List, error) {
	text, err := readSchema(o.schema)
	if err != nil {
		return nil, err
	}
	if isStream(text) {
		return nil, &file.ContentError{Name: o.schema, Err: convert.Misfit("it is a stream, not a schema; are the two swapped?")}
	}
	roots, err := stream.Load(o.schema, text)
	if list := (idl.Diagnostics)(nil); errors.As(err, &list) {
		return nil, errors.New(strings.TrimSuffix(list[:min(len(list), maxDiagnostics)].Render(text), "\n"))
	}
	if err != nil {
		return nil, &file.ContentError{Name: o.schema, Err: err}
	}
	for _, name := range slices.Sorted(maps.Keys(o.base)) {
		root, err := roots.Parse(name)
		if err != nil {
			return nil, usagef("--base %s: %v", name, err)
		}
		if _, err := schema.Keep(root.Struct, o.base[name]); err != nil {
			return nil, usagef("--base %s: %v; the whole schema is %s", name, err, counts(stream.List{root}))
		}
		root.Base = o.base[name]
	}
	return roots, nil
}

// repeated returns the flags with which another command reads the same records: the flags that
// describe the user's schema, or "" for records of OpenTelemetry.
func (o *opener) repeated() string {
	if o.schema == "" {
		return ""
	}
	flags := " --schema " + file.Quoted(o.schema)
	if o.root != "" {
		flags += " --root " + o.root
	}
	for _, name := range slices.Sorted(maps.Keys(o.base)) {
		flags += fmt.Sprintf(" --base %s=%s", name, o.base[name].Text())
	}
	return flags
}

// isStream reports whether a file begins as a STEF stream.
func isStream(head []byte) bool { return bytes.HasPrefix(head, []byte("STEF")) }

// check returns an error if a file is of a kind that the command does not read.
func (s *opened) check() error {
	if err := checkStream(s.Input); err != nil {
		return err
	}
	var options convert.Options
	format, err := options.Guess(s.Input)
	head, unread := s.Peek(4 << 10)
	if unread != nil && (s.o.otlp || s.o.repairs) {
		return nil // a later read reports the error
	}
	if unread != nil {
		return err
	}
	switch empty := s.Empty(); {
	case empty != nil && (err != nil || !s.o.otlp || s.o.several):
		return empty
	case s.o.otlp && s.o.schema != "" && err == nil && format != convert.STEF && format != convert.STEFParts:
		return convert.Misfit("it looks like %s, and --schema is for streams: leave --schema out", format)
	case s.o.otlp:
		return nil
	case err != nil && !bytes.HasPrefix([]byte("STEF"), head):
		return fmt.Errorf("it is not a STEF file: %s", file.DescribeUnknown(head))
	case err != nil || format == convert.STEF || format == convert.STEFParts:
		return nil // a later read reports the error
	case s.o.repairs && format == convert.Parquet:
		return convert.Misfit("it is %s; repair is for STEF: Parquet has its index at the end, so a cut file cannot be read", format)
	case s.o.onlySTEF != "":
		return convert.Misfit("it is %s; %s", format, s.o.onlySTEF)
	}
	return nil
}

// checkStream returns an error if a file that should be a stream is a schema.
func checkStream(in *file.Input) error {
	head, err := in.Peek(4)
	if err != nil || isStream(head) {
		return nil // a later read reports the error
	}
	if head, err = in.Peek(4 << 10); err == nil && convert.IsSchema(head) {
		return convert.Misfit("it is a schema, not a stream; are the two swapped? A schema is the argument of --schema")
	}
	return nil
}

// explain adds advice to a read error of a stream, if the schema with which the stream is read
// may be the reason.
func (s *opened) explain(err error) error {
	if errors.As(err, new(*messages.LengthError)) {
		return err // no flag changes this limit
	}
	if errors.Is(err, dynamic.ErrReaderLimit) || errors.Is(err, stef.ErrLimit) {
		return fmt.Errorf("%w; this is a limit of the tool, and the file may be undamaged: raise --memory-mib or --depth", err)
	}
	misfit := errors.Is(err, dynamic.ErrSchema) || errors.Is(err, stream.ErrRoot)
	if s.o.schema != "" && s.head != nil && s.head.Wire != nil {
		for _, r := range stream.Roots() {
			if slices.Equal(s.head.Wire, schema.WireOf(r.Wire)) || slices.Equal(s.head.Wire, schema.WireOf(r.Struct)) {
				return convert.Misfit("it announces the schema of OpenTelemetry %s: leave --schema out", r.Name)
			}
		}
	}
	switch {
	case s.o.schema == "" && misfit && s.o.only != nil:
		return fmt.Errorf("%w; if the stream does not hold %s, name its records with --root or --signal", err, s.o.only.Name)
	case s.o.schema == "" && misfit:
		return fmt.Errorf("if the records are of a schema of your own, pass it with --schema FILE.stef: %w", err)
	case s.o.schema == "":
		return err
	case s.otherRoots() != "" && misfit:
		return convert.Misfit("%s", s.otherRoots())
	case s.newer():
		return fmt.Errorf("the stream is newer than %s: pass the .stef file that it was written with: %w", s.o.schema, err)
	case s.assumed() && len(s.o.base) == 0 && atStart(err):
		advice := "pass the schema of that version, or, for an older one, --base with its numbers of fields"
		if s.other != nil {
			advice += "; or pass --root " + s.other.Name + ", which fits"
		}
		if name := s.head.UserData[stream.UserDataKey]; name != "" && !slices.ContainsFunc(s.o.roots, func(r *stream.Root) bool { return strings.EqualFold(name, r.Name) || name == r.Struct.Name }) {
			return fmt.Errorf("the stream announces no schema, and its user data say that its root is %s, which %s does not have: pass the schema of that root: %w", name, s.o.schema, err)
		}
		return fmt.Errorf("the stream announces no schema, so it is read with all fields of %s (%s). If it was written with another version, %s: %w",
			s.o.schema, shortCounts(s.candidates()), advice, err)
	case s.assumed() && atStart(err) && !cutOff(err):
		return fmt.Errorf("the stream announces no schema, so it is read with the numbers of --base. If it was written with another version, pass the numbers of that version, as stefc -numbers prints them: %w", err)
	case misfit:
		return fmt.Errorf("%w; the schema is that of %s", err, s.o.schema)
	case s.head != nil && s.head.Wire != nil && atStart(err) && !cutOff(err) && !errors.Is(err, zstd.ErrCRCMismatch):
		return fmt.Errorf("%w; if the file is not damaged, it was written with another schema than %s: "+
			"fields may only be appended, never inserted, moved, removed or given another type%s", err, s.o.schema, s.orOtherRoot())
	}
	return err
}

// assumed reports whether the stream announces no schema, so that --schema or --base may be wrong.
func (s *opened) assumed() bool { return s.o.schema != "" && s.head != nil && s.head.Wire == nil }

// unusedBase prints a warning for each --base that has no effect on a file. If several files
// announce the schema of a root, only the first file causes a warning.
func (s *opened) unusedBase(w io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(s.o.base)) {
		switch {
		case s.head != nil && s.head.Wire != nil && s.o.announced[name]:
		case s.head != nil && s.head.Wire != nil:
			if s.o.announced == nil {
				s.o.announced = map[string]bool{}
			}
			s.o.announced[name] = true
			fmt.Fprintf(w, "warning: --base %s has no effect: %s announces its schema\n", name, s.Name)
		case s.root != nil && !strings.EqualFold(name, s.root.Name):
			fmt.Fprintf(w, "warning: --base %s has no effect: %s holds records of %s\n", name, s.Name, s.root.Name)
		}
	}
}

// atStart reports whether an error occurred in the headers or in the first frame. A wrong
// schema usually causes such errors.
func atStart(err error) bool {
	var at *dynamic.Error
	return errors.Is(err, stream.ErrRoot) || errors.As(err, &at) && at.Frame <= 1
}

// cutOff reports whether the whole stream ends too early, and not only one of its columns.
func cutOff(err error) bool {
	var at *dynamic.Error
	return errors.Is(err, io.ErrUnexpectedEOF) && errors.As(err, &at) && at.Column == ""
}

// candidates returns the possible roots of the stream.
func (s *opened) candidates() stream.List {
	if s.root != nil {
		return stream.List{s.root}
	}
	return s.o.roots
}

// otherRoots returns advice for an error: it names the roots of --schema that fit the
// schema of the stream. It returns "" if no root fits, if the root of --root fits, or if
// the stream announces no schema.
func (s *opened) otherRoots() string {
	if s.head == nil || s.head.Wire == nil {
		return ""
	}
	var exact, older []string
	for _, r := range s.o.roots {
		switch fit := schema.Compare(r.Struct, s.head.Wire); {
		case r == s.root && (fit == schema.Exact || fit == schema.Older):
			return ""
		case fit == schema.Exact:
			exact = append(exact, r.Name)
		case fit == schema.Older:
			older = append(older, r.Name)
		}
	}
	if s.root == nil && len(exact) == 1 && len(older) > 0 {
		return fmt.Sprintf("several roots fit: the stream announces the schema of %s, which is also an older schema of %s: pass --root %s, unless the stream holds records of %s",
			exact[0], strings.Join(older, ", "), exact[0], strings.Join(older, " or "))
	}
	fitting := exact
	if len(exact) == 0 {
		fitting = older
	}
	not, otherwise := "", ""
	if s.root != nil {
		not, otherwise = ", not "+s.root.Name, fmt.Sprintf("; if it holds records of %s, pass the .stef file that it was written with", s.root.Name)
	}
	switch len(fitting) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("the schema that the stream announces fits %s%s: say --root %s%s", fitting[0], not, fitting[0], otherwise)
	}
	return fmt.Sprintf("the schema that the stream announces fits %s%s: say which with --root%s", strings.Join(fitting, ", "), not, otherwise)
}

// orOtherRoot returns the end of an error about a stream whose schema fits the selected root. The
// text says that the records may belong to another root: a stream announces only the numbers of
// its fields, and the numbers of an older schema can fit many roots.
func (s *opened) orOtherRoot() string {
	var others []string
	older := false
	for _, r := range s.o.roots {
		switch fit := schema.Compare(r.Struct, s.head.Wire); {
		case r == s.root:
			older = fit == schema.Older
		case fit == schema.Exact || fit == schema.Older:
			others = append(others, r.Name)
		}
	}
	switch {
	case len(others) == 1:
		return fmt.Sprintf("; or its records are those of %s: the announced schema fits this root, too, so try --root %s", others[0], others[0])
	case older || len(others) > 0:
		return "; or its records are those of another root"
	}
	return ""
}

// newer reports whether the stream announces more fields than the schema has.
func (s *opened) newer() bool {
	return s.head != nil && s.head.Wire != nil && slices.ContainsFunc(s.candidates(), func(r *stream.Root) bool {
		return schema.Compare(r.Struct, s.head.Wire) == schema.Newer
	})
}

// maxCounts is the length in bytes above which shortCounts lists only the first of several
// roots.
const maxCounts = 60

// shortCounts is like counts, but short enough for a message: if the list is long, it has only
// the first root.
func shortCounts(roots stream.List) string {
	text := counts(roots)
	if len(roots) == 1 || len(text) <= maxCounts {
		return text
	}
	return fmt.Sprintf("%s, and %d more roots", counts(roots[:1]), len(roots)-1)
}

// counts lists roots with their schemas, in the syntax of --base.
func counts(roots stream.List) string {
	var all []string
	for _, r := range roots {
		all = append(all, r.Struct.Name+"="+schema.WireOf(r.Struct).Text())
	}
	return strings.Join(all, ", ")
}

// baseFlag is the flag --base.
type baseFlag map[string]schema.WireSchema

func (b baseFlag) String() string { return "" }

func (b baseFlag) Set(v string) error {
	bases, err := schema.ParseWireTexts(v)
	maps.Copy(b, bases)
	return err
}
