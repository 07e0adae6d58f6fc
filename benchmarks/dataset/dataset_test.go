// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest/canon"
)

func TestBatches(t *testing.T) {
	for _, ref := range Bundled() {
		set := ref.Load(t)
		require.Equal(t, set.Items, set.Whole().Items())
		want := Items(set.Signal, set.Parts)
		for _, n := range []int{1, 100, 1 << 20} {
			batches := set.Batches(n)
			for i, b := range batches {
				if i < len(batches)-1 {
					require.Equal(t, n, Units(b))
				}
			}
			require.Empty(t, canon.Diff(want, Items(set.Signal, batches)))
		}
	}
}

// TestItemBatches cuts metrics of each type between their points.
func TestItemBatches(t *testing.T) {
	for _, ref := range Bundled() {
		set := ref.Load(t)
		want := Items(set.Signal, set.Parts)
		for _, n := range []int{1, 3, 100, 1 << 20} {
			batches := set.ItemBatches(n)
			for i, b := range batches {
				require.LessOrEqual(t, b.Items(), n)
				if i < len(batches)-1 && set.Signal != otlpfile.Metrics { // metrics without points count as one
					require.Equal(t, n, b.Items())
				}
			}
			require.Empty(t, canon.Diff(want, Items(set.Signal, batches)))
		}
	}
}

// TestLargeMetric cuts a metric of many points. The cost must grow with the number of points. It would
// grow with the square of this number if each batch copied all points and then removed most of them.
func TestLargeMetric(t *testing.T) {
	const points = 2000
	part := New(otlpfile.Metrics)
	m := part.Metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetUnit("1")
	sum := m.SetEmptySum()
	sum.SetIsMonotonic(true)
	for i := range points {
		sum.DataPoints().AppendEmpty().SetIntValue(int64(i))
	}
	set := &Set{Ref: Ref{Signal: otlpfile.Metrics}, Parts: []otlpfile.Batch{part}, Items: points}
	var batches []otlpfile.Batch
	allocs := testing.AllocsPerRun(1, func() { batches = set.ItemBatches(1) })
	require.Less(t, allocs, float64(100*points))
	require.Len(t, batches, points)
	require.Empty(t, canon.Diff(Items(set.Signal, set.Parts), Items(set.Signal, batches)))
}

func TestRefs(t *testing.T) {
	refs := Refs(t)
	require.GreaterOrEqual(t, len(refs), 3)
	require.Len(t, FirstOf(refs), 3)
}

func TestAbsent(t *testing.T) {
	t.Setenv("STEF_DATA", t.TempDir()+"/absent")
	t.Setenv("STEF_REQUIRE_SETS", "")
	for _, ref := range Refs(t) {
		require.True(t, ref.Bundled)
	}
}

func TestSpans(t *testing.T) {
	b := Spans(100, 4, 1)
	require.Equal(t, 100, b.Items())
	again, err := Marshal(Spans(100, 4, 1))
	require.NoError(t, err)
	message, err := Marshal(b)
	require.NoError(t, err)
	require.Equal(t, message, again, "made-up batches are the same in every run")
	other, err := Marshal(Spans(100, 4, 2))
	require.NoError(t, err)
	require.NotEqual(t, message, other)
}

// TestSpansOfTraces checks that Shape.Trace sets the number of spans per trace: it counts the traces
// in generated batches of 100 spans.
func TestSpansOfTraces(t *testing.T) {
	for length, want := range map[int]int{0: 10, 1: 100, 4: 25, 10: 10} {
		traces := map[pcommon.TraceID]bool{}
		b := Shape{Items: 100, Trace: length}.Batches(otlpfile.Traces, 1)[0]
		for _, span := range b.Traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
			traces[span.TraceID()] = true
		}
		require.Len(t, traces, want, "%d spans a trace", length)
	}
}

func TestJoin(t *testing.T) {
	set := Bundled()[2].Load(t)
	joined := Join(set.Parts...)
	require.Equal(t, set.Items, joined.Items())
	moved := New(otlpfile.Logs)
	MoveAll(moved, joined)
	require.Equal(t, set.Items, moved.Items())
	require.Zero(t, joined.Items())
}

func TestHead(t *testing.T) {
	set := Bundled()[1].Load(t)
	for _, n := range []int{1, 10, 1000, 1 << 20} {
		head := set.Head(n)
		units := 0
		for _, part := range head.Parts {
			units += Units(part)
		}
		require.Equal(t, min(n, set.Items), units)
		require.Equal(t, units, head.Items)
	}
	require.Equal(t, set.Parts[0], set.Head(1000).Parts[0])
}

func TestOwnSets(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("STEF_DATA", dir)
	require.Contains(t, Line(Refs(t)), "STEF_DATA is "+dir+", in which no metrics/*.zst")
	for _, name := range []string{"mine.parts.zst", "mine.zst", "yours-otelmetrics.zst", "shop.otlp.zst", "ignored.stef"} {
		path := filepath.Join(dir, "metrics", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	var names []string
	for _, ref := range Large(t) {
		names = append(names, ref.Title())
	}
	require.Equal(t, []string{"mine metrics", "mine metrics", "shop metrics", "yours metrics"}, names)
	line := Line(Refs(t))
	require.NotContains(t, line, "STEF_DATA is")
	require.Contains(t, line, "; sets of STEF_DATA: mine metrics, mine metrics, shop metrics, yours metrics; for reporting only: ")
	require.NotContains(t, line, "large real sets")
	for _, ref := range Large(t) {
		require.Equal(t, ref.Title(), ref.Label(), "a set of the user is not for reporting only")
	}
	require.Equal(t, "14 recordings of the repository and 4 sets of STEF_DATA", Counts(Refs(t)))
	require.Equal(t, "14 recordings of the repository", Counts(Recorded()))
}

// TestChoice checks which sets a -bench flag chooses, and the message if it chooses no set.
func TestChoice(t *testing.T) {
	refs := Recorded()
	benchmarks := []string{"BenchmarkWindow", "BenchmarkSize"}
	f := func(bench, these, problem string) {
		t.Helper()
		c := choiceOf(bench)
		if these == "" {
			these = Line(refs)
		}
		require.Equal(t, these, c.line(refs))
		require.Equal(t, problem, c.problem(bench, refs, slices.Clone(benchmarks)))
	}
	f(".", "", "")
	f("Size", "", "")
	f("Size/set=node", "recordings of the repository: node metrics, node traces, node logs; for reporting only: node metrics, node logs; chosen by -bench", "")
	f("Size/set=node/signal=metrics", "recordings of the repository: node metrics; for reporting only: node metrics; chosen by -bench", "")
	f("Size/set=(node|go)$/signal=logs", "recordings of the repository: go logs, node logs; for reporting only: node logs; chosen by -bench", "")
	f("Size/signal=logs", "recordings of the repository: go logs, java logs, node logs, python logs; for reporting only: java logs, node logs, python logs; chosen by -bench", "")
	const form = " Names have this form: Pair/set=node/signal=metrics"
	f("Size/set=ndoe", "", "-bench Size/set=ndoe matches no set. There is no set ndoe: did you mean node?"+form)
	f("Size/set=hipstershop", "", "-bench Size/set=hipstershop matches no set. hipstershop is not found: it is not in the repository (STEF_DATA names the folder of such sets)."+form)
	f("Size/set=collector/signal=logs", "", "-bench Size/set=collector/signal=logs matches no set. There is no set of collector with signal=logs."+form)
	f("Size/set=nothing", "", "-bench Size/set=nothing matches no set. There is no set nothing; the sets are collector, go, java, node, python."+form)
	f("Windw", "", "-bench Windw matches no benchmark of this package: did you mean Window? The benchmarks are Window, Size")
	f("Encode", "", "-bench Encode matches no benchmark of this package. The benchmarks are Window, Size")
	f("(", "", "") // package testing reports this error
}

type messages struct {
	testing.TB
	text string
}

func (m *messages) Helper() {}
func (m *messages) Fatalf(format string, args ...any) {
	m.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestOtherSignal(t *testing.T) {
	ref := Bundled()[2]
	ref.Signal = otlpfile.Metrics
	require.Contains(t, failure(t, ref), "shop metrics: the file does not hold OTLP messages of metrics, each after its length: ")
}

func failure(t *testing.T, ref Ref) string {
	m := &messages{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ref.Load(m)
	}()
	<-done
	return m.text
}

// TestOtherFiles loads files that are empty, or have another format.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("STEF_DATA", dir)
	path := filepath.Join(dir, "metrics", "mine.parts.zst")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	const empty, notZstd = "the file has no part", "fixtures: length of part 1: invalid input: magic number mismatch"
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"nothing", nil, empty},
		{"nothing under zstd", z.EncodeAll([]byte{}, nil), empty},
		{"JSON", []byte(`{"resourceMetrics":[]}`), notZstd},
		{"JSON under zstd", z.EncodeAll([]byte(`{"resourceMetrics":[]}`), nil), "fixtures: part 1: unexpected EOF"},
		{"a STEF file as such", []byte("STEF\x01\x00\x00"), notZstd},
	} {
		require.NoError(t, os.WriteFile(path, c.content, 0o600))
		const advice = "; the file must hold whole OTLP messages, each after its length, compressed with zstd: stef convert writes it from other formats as NAME.parts.zst"
		require.Equal(t, path+": "+c.want+advice, failure(t, Large(t)[0]), c.name)
	}
}

// TestBenchmarksOf checks that package testing has the layout that benchmarksOf reads.
func TestBenchmarksOf(t *testing.T) {
	field, ok := reflect.TypeFor[testing.M]().FieldByName("benchmarks")
	require.True(t, ok)
	require.Equal(t, reflect.TypeFor[[]testing.InternalBenchmark](), field.Type)
	require.Equal(t, "Name", field.Type.Elem().Field(0).Name)
	require.Empty(t, benchmarksOf(&testing.M{}))
}
