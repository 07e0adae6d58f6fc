// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest_test

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/choices"
	"github.com/otelstef/stef/internal/stefgen/testdata/scalars"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

var properties = map[string]func(tb testing.TB, r *steftest.Root, seed uint64){
	"RoundTrip":     steftest.RoundTrip,
	"Evolve":        steftest.Evolve,
	"Mutate":        steftest.Mutate,
	"SelfContained": steftest.SelfContained,
}

func TestProperties(t *testing.T) {
	for _, root := range []*steftest.Root{metricsRoot(t), optionalsRoot(t), choicesRoot(t), scalarsRoot(t)} {
		for _, property := range properties {
			for seed := range uint64(10) {
				property(t, root, seed)
			}
		}
	}
}

// TestEvolveOfManyTypes runs Evolve with a schema of very many types, up to the limit, whose headers are
// long.
func TestEvolveOfManyTypes(t *testing.T) {
	for _, entries := range []int{124, schema.MaxWireEntries} {
		r := metricsRoot(t)
		r.Known = slices.Repeat(schema.WireSchema{1}, entries)
		require.Empty(t, fails(t, steftest.Evolve, r))
	}
}

// failure is a testing.TB that stores the message of a failed test.
type failure struct {
	testing.TB
	message string
}

func (f *failure) Helper() {}

func (f *failure) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// TestAllRoots: AllRoots fails if a root has no test, and names the root.
func TestAllRoots(t *testing.T) {
	all := func(tb testing.TB, r *steftest.Root, _ uint64) { steftest.AllRoots(tb, r) }
	require.Equal(t, "roots have no test, make a Root of each with NewRoot: Second", fails(t, all, scalarsRoot(t)))
	require.Equal(t, "roots have no test, make a Root of each with NewRoot: Spans, Logs", fails(t, all, metricsRoot(t)))
	second := steftest.NewRoot(fixture(t, "scalars").Root("Second"), nil, scalars.NewSecondWriter, scalars.NewSecondReader)
	require.Equal(t, "roots have no test, make a Root of each with NewRoot: Plain", fails(t, all, second))
	steftest.AllRoots(t, scalarsRoot(t), second)
	steftest.AllRoots(t, second, scalarsRoot(t))
	steftest.AllRoots(t, choicesRoot(t)) // the only root

	// One message names the missing constructors of all roots. A root without any constructor
	// is not checked.
	some := steftest.NewRoot(fixture(t, "scalars").Root("Second"), nil, scalars.NewSecondWriter, scalars.NewSecondReader, scalars.NewSecond)
	plain := steftest.NewRoot(fixture(t, "scalars").Root("Plain"), nil, scalars.NewPlainWriter, scalars.NewPlainReader, scalars.NewPlain)
	both := func(tb testing.TB, r *steftest.Root, _ uint64) { steftest.AllRoots(tb, r, plain) }
	require.Equal(t, "root Second: constructors are missing, pass them to NewRoot: scalars.NewMaybe; "+
		"root Plain: constructors are missing, pass them to NewRoot: scalars.NewMaybe, scalars.NewLists", fails(t, both, some))
}

// fails runs a property with several seeds until it fails, and returns the message of the
// failure, or "" if the property did not fail.
func fails(tb testing.TB, property func(tb testing.TB, r *steftest.Root, seed uint64), root *steftest.Root) string {
	f := &failure{TB: tb}
	for seed := range uint64(30) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			property(f, root, seed)
		}()
		if <-done; f.message != "" {
			break
		}
	}
	return f.message
}

// brokenWriter is a writer whose Write calls another function.
type brokenWriter struct {
	steftest.Writer[any]
	write func(w steftest.Writer[any]) error
}

func (w brokenWriter) Write() error { return w.write(w.Writer) }

type brokenReader struct {
	steftest.Reader[any]
	next func(r steftest.Reader[any]) bool
}

func (r brokenReader) Next() bool { return r.next(r.Reader) }

// TestPropertiesFail breaks the writer and the reader of a root.
func TestPropertiesFail(t *testing.T) {
	f := func(damage func(root *steftest.Root), names ...string) {
		t.Helper()
		for _, name := range names {
			root := metricsRoot(t)
			damage(root)
			message := fails(t, properties[name], root)
			require.NotEmpty(t, message, name)
			require.Contains(t, message, "seed ", name)
		}
	}
	writer := func(write func(w steftest.Writer[any]) error) func(root *steftest.Root) {
		return func(root *steftest.Root) {
			make := root.NewWriter
			root.NewWriter = func(dst io.Writer, options ...stef.WriterOption) (steftest.Writer[any], error) {
				w, err := make(dst, options...)
				return brokenWriter{w, write}, err
			}
		}
	}
	reader := func(next func(r steftest.Reader[any]) bool) func(root *steftest.Root) {
		return func(root *steftest.Root) {
			make := root.NewReader
			root.NewReader = func(src io.Reader, options ...stef.ReaderOption) (steftest.Reader[any], error) {
				r, err := make(src, options...)
				return brokenReader{r, next}, err
			}
		}
	}
	all := []string{"RoundTrip", "Evolve", "Mutate", "SelfContained"}
	// A writer that omits or repeats a record, or omits a change.
	f(writer(func(w steftest.Writer[any]) error {
		if w.Stats().Records == 2 {
			_ = w.Write()
		}
		return w.Write()
	}), all...)
	f(writer(func(w steftest.Writer[any]) error {
		rec := w.Record().(*otelstef.Metrics)
		now := rec.Point().StartTimestamp()
		rec.Point().SetStartTimestamp(0)
		defer rec.Point().SetStartTimestamp(now)
		return w.Write()
	}), all...)
	f(writer(func(w steftest.Writer[any]) error {
		rec := w.Record().(*otelstef.Metrics)
		rec.EditResource().SetDroppedAttributesCount(7)
		return w.Write()
	}), all...)
	// A reader that skips a record, or ends too early.
	f(reader(func(r steftest.Reader[any]) bool {
		if r.Stats().Records == 1 {
			r.Next()
		}
		return r.Next()
	}), all...)
	f(reader(func(r steftest.Reader[any]) bool { return r.Stats().Records < 3 && r.Next() }), all...)
	// Writers that ignore options for restart flags, schemas and user data.
	f(func(root *steftest.Root) {
		make := root.NewWriter
		root.NewWriter = func(dst io.Writer, options ...stef.WriterOption) (steftest.Writer[any], error) {
			return make(dst, append(options, stef.WithRestart(0))...)
		}
	}, "SelfContained")
	f(func(root *steftest.Root) {
		make := root.NewWriter
		root.NewWriter = func(dst io.Writer, options ...stef.WriterOption) (steftest.Writer[any], error) {
			return make(dst, append(options, stef.WithSchema(otelstef.MetricsSchema()))...)
		}
	}, "Evolve")
	f(func(root *steftest.Root) {
		make := root.NewWriter
		root.NewWriter = func(dst io.Writer, options ...stef.WriterOption) (steftest.Writer[any], error) {
			return make(dst, append(options, stef.WithUserData(nil))...)
		}
	}, "RoundTrip", "Evolve", "Mutate")
	// The root states a wrong schema for streams that announce none.
	f(func(root *steftest.Root) { root.Base = otelstef.MetricsSchema() }, "RoundTrip")
}

// TestMissingConstructors: Mutate, SelfContained and NewMutator name the constructors that
// NewRoot did not receive.
func TestMissingConstructors(t *testing.T) {
	root := func(constructors ...any) *steftest.Root {
		return steftest.NewRoot(fixture(t, "choices").Root("Record"), nil, choices.NewRecordWriter, choices.NewRecordReader, constructors...)
	}
	const want = "constructors are missing, pass them to NewRoot: choices.NewAny, choices.NewPoint, choices.NewSeven, choices.NewTags, " +
		"choices.NewAny2, choices.NewOne, choices.NewShared, choices.NewNumbers, choices.NewThree, choices.NewTexts, choices.NewBoxed"
	for _, name := range []string{"Mutate", "SelfContained"} {
		message := fails(t, properties[name], root(choices.NewRecord))
		require.True(t, strings.HasSuffix(message, ": "+want), message)
	}
	require.PanicsWithValue(t, "steftest: "+want, func() {
		steftest.NewMutator(1, root(choices.NewRecord), choices.NewRecord(), nil)
	})
	// RoundTrip and Evolve need no constructors.
	steftest.RoundTrip(t, root(), 1)
	steftest.Evolve(t, root(), 1)
}
