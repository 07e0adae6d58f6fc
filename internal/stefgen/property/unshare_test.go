// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package property_test

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/optionals"
	"github.com/otelstef/stef/internal/stefgen/testdata/recursive"
	"github.com/otelstef/stef/internal/stefgen/testdata/shared"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/steftest"
)

// TestUnshare copies the records that a reader returns to the writers of two more goroutines.
// After Unshare, a copy is equal to the record and shares no value with it. If goroutines
// still used a value together, the race detector would fail the test.
func TestUnshare(t *testing.T) {
	eachRoot(t, func(t *testing.T, r *steftest.Root) {
		switch t.Name() {
		case "TestUnshare/shared":
			unshare(t, r, shared.NewRecord, shared.NewRecordWriter, shared.NewRecordReader)
		case "TestUnshare/optionals":
			unshare(t, r, optionals.NewRecord, optionals.NewRecordWriter, optionals.NewRecordReader)
		case "TestUnshare/recursive":
			unshare(t, r, recursive.NewRecord, recursive.NewRecordWriter, recursive.NewRecordReader)
		}
	})
}

type unsharer[R any] interface {
	CopyFrom(R)
	Equal(R) bool
	Unshare()
}

type recordWriter[R any] interface {
	Record() R
	Write() error
	Close() error
}

type recordReader[R any] interface {
	Next() bool
	Record() R
	Err() error
}

func unshare[R unsharer[R], W recordWriter[R], D recordReader[R]](
	t *testing.T, root *steftest.Root, newRecord func() R,
	newWriter func(io.Writer, ...stef.WriterOption) (W, error), newReader func(io.Reader, ...stef.ReaderOption) (D, error),
) {
	t.Helper()
	const records = 40
	held := 0 // the shared values in the records of the reader
	for seed := range seeds() {
		var in, own bytes.Buffer
		w, err := newWriter(&in)
		require.NoError(t, err)
		mutator := steftest.NewMutator(seed, root, w.Record(), nil)
		for range records {
			mutator.Mutate()
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Close())

		var outs [2]bytes.Buffer
		var copies [2]chan R
		var writers sync.WaitGroup
		for i := range copies {
			copies[i] = make(chan R)
			cw, err := newWriter(&outs[i])
			require.NoError(t, err)
			writers.Go(func() {
				for c := range copies[i] {
					cw.Record().CopyFrom(c)
					if err := cw.Write(); err != nil {
						t.Error(err)
					}
				}
				if err := cw.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		r, err := newReader(bytes.NewReader(in.Bytes()))
		require.NoError(t, err)
		ownWriter, err := newWriter(&own)
		require.NoError(t, err)
		reused := newRecord()
		for r.Next() {
			ofReader := sharedValues(r.Record())
			held += len(ofReader)
			fresh := newRecord()
			reused.CopyFrom(r.Record())
			for i, c := range []R{fresh, reused} {
				c.CopyFrom(r.Record())
				c.Unshare()
				require.True(t, c.Equal(r.Record()))
				for v := range sharedValues(c) {
					require.False(t, ofReader[v], "the copy points to a value of the reader")
				}
				if i == 1 { // reused changes with the next record, so send a copy of it
					c = newRecord()
					c.CopyFrom(reused)
				}
				copies[i] <- c
			}
			ownWriter.Record().CopyFrom(r.Record())
			if seed%2 == 1 { // Unshare must not lose marks
				ownWriter.Record().Unshare()
			}
			require.NoError(t, ownWriter.Write())
		}
		require.NoError(t, r.Err())
		require.NoError(t, ownWriter.Close())
		for i := range copies {
			close(copies[i])
		}
		writers.Wait()

		for _, out := range []*bytes.Buffer{&own, &outs[0], &outs[1]} {
			want, err := newReader(bytes.NewReader(in.Bytes()))
			require.NoError(t, err)
			have, err := newReader(out)
			require.NoError(t, err)
			for want.Next() {
				require.True(t, have.Next(), have.Err())
				require.True(t, want.Record().Equal(have.Record()))
			}
			require.False(t, have.Next())
			require.NoError(t, have.Err())
		}
	}
	require.NotZero(t, held)
}

// sharedValues returns the values of dictionary structs that a record points to, at any depth.
// It reads the Go fields by reflection, so it also finds the values of absent fields.
func sharedValues(rec any) map[unsafe.Pointer]bool {
	found := map[unsafe.Pointer]bool{}
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				return
			}
			if _, dict := v.Type().Elem().FieldByName("slot"); dict {
				found[v.UnsafePointer()] = true
			}
			visit(v.Elem())
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				name, typ := v.Type().Field(i).Name, v.Type().Field(i).Type
				// These fields are not part of the value: the tree of marks, the last written value, functions.
				if name == "node" || name == "slot" || strings.HasSuffix(name, "Sent") || strings.HasPrefix(typ.String(), "*stefrt.Elem") {
					continue
				}
				if typ.String() != "stefrt.Node" {
					visit(v.Field(i))
				}
			}
		}
	}
	visit(reflect.ValueOf(rec))
	return found
}

// TestUnshareRefusesSharedValues: a shared value and its parts never change.
func TestUnshareRefusesSharedValues(t *testing.T) {
	rec := shared.NewRecord()
	rec.SetMiddle(shared.NewMiddle())
	inner := rec.Middle().Inner()
	for _, unshare := range []func(){rec.Middle().Unshare, rec.Middle().Holder().Unshare} {
		require.PanicsWithValue(t, "stef: a shared value cannot be changed; use the Edit method of the record", unshare)
	}
	require.Same(t, inner, rec.Middle().Inner())
	rec.EditMiddle().Unshare()
	require.NotSame(t, inner, rec.Middle().Inner())
}
