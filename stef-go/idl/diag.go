// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/schema"
)

// maxReports is the maximum number of errors, and of warnings, reported for one
// file.
const maxReports = 50

// Diagnostic is one error or warning about a schema file.
type Diagnostic struct {
	Filename string
	// Pos is the position of the error, or zero if the error is about the whole file.
	Pos schema.Pos
	// Width is the number of runes at Pos to mark, at least 1.
	Width   int
	Warning bool
	Message string
}

// String returns the diagnostic as "file:line:column: message".
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.Filename)
	if d.Pos != (schema.Pos{}) {
		fmt.Fprintf(&b, ":%d:%d", d.Pos.Line, d.Pos.Column)
	}
	b.WriteString(": ")
	if d.Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(d.Message)
	return b.String()
}

// Diagnostics is a list of errors or warnings in order of position. It is the
// error of Parse.
type Diagnostics []Diagnostic

// Error implements error: one diagnostic per line.
func (d Diagnostics) Error() string {
	lines := make([]string, len(d))
	for i, one := range d {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Render returns the diagnostics for human readers: each with its line of src and a
// mark below the place.
//
//	shop.stef:3:9: unknown type "strin", did you mean "string"?
//	   3 |   Note strin
//	     |        ^~~~~
func (d Diagnostics) Render(src []byte) string {
	var b strings.Builder
	lines := sourceLines(src)
	for _, one := range d {
		b.WriteString(one.String())
		b.WriteByte('\n')
		if n := one.Pos.Line; n > 0 && n <= len(lines) {
			renderLine(&b, lines[n-1], one)
		}
	}
	return b.String()
}

// sourceLines splits src into the lines that the lexer counts.
func sourceLines(src []byte) [][]byte {
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	return bytes.Split(bytes.ReplaceAll(src, []byte("\r"), []byte("\n")), []byte("\n"))
}

// The maximum numbers of runes of a line that are shown before the mark, and in total.
const (
	runesBefore = 80
	runesShown  = 160
)

func renderLine(b *strings.Builder, line []byte, d Diagnostic) {
	before := d.Pos.Column - 1
	for ; before > runesBefore; before-- {
		_, width := utf8.DecodeRune(line)
		line = line[width:]
	}
	var text, mark strings.Builder
	for shown := 0; len(line) > 0 && shown < runesShown; shown++ {
		r, width := utf8.DecodeRune(line)
		line = line[width:]
		// Do not let a terminal interpret the contents of the file.
		if !unicode.IsPrint(r) && r != '\t' {
			r = utf8.RuneError
		}
		text.WriteRune(r)
		switch {
		case shown >= before:
		case r == '\t':
			mark.WriteByte('\t')
		default:
			mark.WriteByte(' ')
		}
	}
	tail := max(0, min(d.Width-1, runesShown-before-1))
	number := fmt.Sprintf("%4d", d.Pos.Line)
	b.WriteString(strings.TrimRight(number+" | "+text.String(), " \t") + "\n")
	fmt.Fprintf(b, "%s | %s^%s\n", strings.Repeat(" ", len(number)), mark.String(), strings.Repeat("~", tail))
}

type reports struct {
	filename   string
	errors     []Diagnostic
	warned     []Diagnostic
	suppressed int
	later      []delayed
}

// delayed is an error that laterf keeps.
type delayed struct {
	at      span
	message string
}

// laterf reports an error of the parser after which the checker can still run. So one run
// shows the errors of both. failed ignores the error until flush is called.
func (r *reports) laterf(at span, format string, args ...any) {
	if len(r.later) < maxReports {
		r.later = append(r.later, delayed{at, fmt.Sprintf(format, args...)})
	}
}

func (r *reports) flush() {
	for _, d := range r.later {
		r.errorf(d.at, "%s", d.message)
	}
	r.later = nil
}

func (r *reports) errorf(at span, format string, args ...any) {
	if n := len(r.errors); n > 0 && r.errors[n-1].Pos == at.pos {
		// Only the first error about a token is useful.
		return
	}
	if r.full() {
		r.suppressed++
		return
	}
	r.errors = append(r.errors, r.diagnostic(at, format, args))
}

// warnf adds a warning about text that is legal but suspicious.
func (r *reports) warnf(at span, format string, args ...any) {
	if len(r.warned) == maxReports {
		return
	}
	d := r.diagnostic(at, format, args)
	d.Warning = true
	r.warned = append(r.warned, d)
}

func (r *reports) diagnostic(at span, format string, args []any) Diagnostic {
	return Diagnostic{
		Filename: r.filename,
		Pos:      at.pos,
		Width:    max(1, at.width),
		Message:  fmt.Sprintf(format, args...),
	}
}

func (r *reports) failed() bool { return len(r.errors) > 0 }

// full reports whether further errors are only counted, so that no text is needed.
func (r *reports) full() bool { return len(r.errors) == maxReports }

// failure returns all errors as one error, whose type is Diagnostics.
func (r *reports) failure() error {
	list := sorted(r.errors)
	if r.suppressed > 0 {
		list = append(list, Diagnostic{
			Filename: r.filename,
			Width:    1,
			Message:  "too many errors: " + strconv.Itoa(r.suppressed) + " more are not shown",
		})
	}
	return list
}

func (r *reports) warnings() Diagnostics { return sorted(r.warned) }

func sorted(list []Diagnostic) Diagnostics {
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return list
}
