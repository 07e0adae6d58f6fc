// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package property_test checks the code generated for the schemas of testdata against
// package dynamic. It has its own folder, so that the tests of the generator, which write
// this code, can run even if the code does not compile.
package property_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/choices"
	"github.com/otelstef/stef/internal/stefgen/testdata/empty"
	"github.com/otelstef/stef/internal/stefgen/testdata/maps"
	"github.com/otelstef/stef/internal/stefgen/testdata/names"
	"github.com/otelstef/stef/internal/stefgen/testdata/optionals"
	"github.com/otelstef/stef/internal/stefgen/testdata/recursive"
	"github.com/otelstef/stef/internal/stefgen/testdata/scalars"
	"github.com/otelstef/stef/internal/stefgen/testdata/shared"
	"github.com/otelstef/stef/internal/stefgen/testdata/wide"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

func load(t testing.TB, fixture string) *schema.Schema {
	t.Helper()
	path := filepath.Join("..", "testdata", fixture, "schema.stef")
	src, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := idl.Parse(path, src)
	require.NoError(t, err)
	return s
}

func eachRoot(t *testing.T, f func(t *testing.T, r *steftest.Root)) {
	run := func(name string, r *steftest.Root) {
		t.Run(name, func(t *testing.T) { f(t, r) })
	}
	run("scalars", steftest.NewRoot(load(t, "scalars").Root("Plain"), nil,
		scalars.NewPlainWriter, scalars.NewPlainReader, scalars.PlainConstructors()...))
	run("scalars second", steftest.NewRoot(load(t, "scalars").Root("Second"), scalars.SecondBaseSchema(),
		scalars.NewSecondWriter, scalars.NewSecondReader, scalars.SecondConstructors()...))
	run("optionals", steftest.NewRoot(load(t, "optionals").Root("Record"), nil,
		optionals.NewRecordWriter, optionals.NewRecordReader, optionals.RecordConstructors()...))
	run("choices", steftest.NewRoot(load(t, "choices").Root("Record"), nil,
		choices.NewRecordWriter, choices.NewRecordReader, choices.RecordConstructors()...))
	run("maps", steftest.NewRoot(load(t, "maps").Root("Record"), nil,
		maps.NewRecordWriter, maps.NewRecordReader, maps.RecordConstructors()...))
	run("recursive", steftest.NewRoot(load(t, "recursive").Root("Record"), nil,
		recursive.NewRecordWriter, recursive.NewRecordReader, recursive.RecordConstructors()...))
	run("shared", steftest.NewRoot(load(t, "shared").Root("Record"), nil,
		shared.NewRecordWriter, shared.NewRecordReader, shared.RecordConstructors()...))
	run("empty", steftest.NewRoot(load(t, "empty").Root("Record"), nil,
		empty.NewRecordWriter, empty.NewRecordReader, empty.RecordConstructors()...))
	run("wide", steftest.NewRoot(load(t, "wide").Root("Record"), nil,
		wide.NewRecordWriter, wide.NewRecordReader, wide.RecordConstructors()...))
	run("names", steftest.NewRoot(load(t, "names").Root("Record"), nil,
		names.NewRecordWriter, names.NewRecordReader, names.RecordConstructors()...))
}

func seeds() uint64 {
	switch {
	case os.Getenv("STEF_LONG") != "":
		return 500
	case testing.Short():
		return 3
	}
	return 6
}

// TestNotErrors: package fmt prints all fields of a value that has a field Error or GoString.
func TestNotErrors(t *testing.T) {
	failed := names.NewFailed()
	failed.SetError("boom")
	failed.SetGoString("bang")
	failed.Failure().SetError("bad")
	require.Equal(t, `{"error":"boom","GoString":"bang","Failure":"bad"}`, fmt.Sprint(failed))
	require.NotEqual(t, "bang", fmt.Sprintf("%#v", failed))
	require.Equal(t, []string{"boom", "bang", "bad"}, []string{failed.Err(), failed.GoStr(), failed.Failure().Err()})
}

func TestRoundTrip(t *testing.T) {
	eachRoot(t, func(t *testing.T, r *steftest.Root) {
		for seed := range seeds() {
			steftest.RoundTrip(t, r, seed)
		}
	})
}

func TestEvolve(t *testing.T) {
	eachRoot(t, func(t *testing.T, r *steftest.Root) {
		for seed := range seeds() {
			steftest.Evolve(t, r, seed)
		}
	})
}

func TestMutate(t *testing.T) {
	eachRoot(t, func(t *testing.T, r *steftest.Root) {
		for seed := range seeds() {
			steftest.Mutate(t, r, seed)
		}
	})
}
