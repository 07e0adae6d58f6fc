// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/otelstef/stef/internal/stefgen"
	"github.com/otelstef/stef/stef-go/idl"
)

// refused prints what the generator refuses: parts of the schema, then parts of the form.
func refused(stderr io.Writer, path string, src []byte, form *formFile, err error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var own, ofForm idl.Diagnostics
	for _, err := range all {
		switch e, ok := err.(*stefgen.Error); {
		case !ok:
			fmt.Fprintf(stderr, "%s: %v\n", path, err)
		case e.Form:
			ofForm = append(ofForm, idl.Diagnostic{Filename: form.path, Pos: e.Pos, Width: e.Width, Message: e.Message})
		default:
			own = append(own, idl.Diagnostic{Filename: path, Pos: e.Pos, Width: e.Width, Message: e.Message})
		}
	}
	if len(own) > 0 {
		render(stderr, byLine(own), src)
	}
	if len(ofForm) > 0 {
		render(stderr, byLine(ofForm), form.src)
	}
}

func byLine(list idl.Diagnostics) idl.Diagnostics {
	slices.SortStableFunc(list, func(a, b idl.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return list
}

// report prints an error of the parser, with its position if the error has one.
func report(stderr io.Writer, path string, src []byte, err error) {
	var list idl.Diagnostics
	if !errors.As(err, &list) {
		fmt.Fprintf(stderr, "%s: %v\n", path, err)
		return
	}
	render(stderr, list, src)
}

// maxShown bounds the number of printed errors, and maxWarnings the number of printed warnings.
// The values of an enum usually have the same style, so one enum can cause many warnings.
const (
	maxShown    = 10
	maxWarnings = 50
)

func render(stderr io.Writer, list idl.Diagnostics, src []byte) {
	limit := maxShown
	if len(list) > 0 && list[0].Warning {
		limit = maxWarnings
	}
	shown := list[:min(len(list), limit)]
	fmt.Fprint(stderr, shown.Render(src))
	if n := len(list) - len(shown); n > 0 {
		fmt.Fprintf(stderr, "%s: %d more are not shown\n", list[0].Filename, n)
	}
}
