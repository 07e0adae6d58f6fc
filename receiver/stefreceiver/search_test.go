// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// The test measures the CPU time of a thread, which Linux counts. The race detector
// changes both time and memory.
//go:build linux && !race

package stefreceiver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/internal/fixtures/recordings"
	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// outcome is the measured cost of a stream for the receiver.
type outcome struct {
	sent, charged int64         // bytes of the stream, and what the client was charged for them
	cpu           time.Duration // of the goroutine that decodes
	allocated     int64
	batch, weight int64 // live memory of decoded batches, and what admission counts for them
	held, counted int64 // live memory between batches, and what the receiver counts for it
	records       uint64
}

// budget is the charge after which suffer stops decoding a stream.
const budget = 16 * mib

// suffer makes the receiver decode a stream. If keep is true, it measures live memory, otherwise CPU time
// and allocations.
func suffer(t testing.TB, root string, stream []byte, keep bool) outcome {
	return sufferUpTo(t, root, stream, keep, budget)
}

func sufferUpTo(t testing.TB, root string, stream []byte, keep bool, budget int64) outcome {
	switch root {
	case otelstef.MetricsRootName:
		return sufferAs(t, signal.Metrics, metricsOperation, stream, keep, budget)
	case otelstef.SpansRootName:
		return sufferAs(t, signal.Traces, tracesOperation, stream, keep, budget)
	}
	return sufferAs(t, signal.Logs, logsOperation, stream, keep, budget)
}

func sufferAs[T any](t testing.TB, sig *signal.Descriptor[T], op operation, data []byte, keep bool, budget int64) outcome {
	out := outcome{sent: int64(len(data)), charged: streamCost}
	settings := receivertest.NewNopSettings(metadata.Type)
	s, err := newShared(testConfig(), settings)
	require.NoError(t, err)
	var before int64
	var kept []T
	watched := *sig
	watched.NewDecoder = func(src io.Reader, options []stefpdata.DecoderOption, more ...stef.ReaderOption) (*signal.Decoder[T], error) {
		d, err := sig.NewDecoder(src, options, more...)
		if err != nil {
			return d, err
		}
		var z sizer
		var ended error
		var last stef.ReaderStats
		decode, reader := d.Decode, d.Reader
		d.Decode = func() (T, error) {
			if out.charged > budget || keep && out.weight > 4*mib {
				none, _ := sig.Unmarshal(nil)
				return none, io.EOF // stop here: further batches would cost the same
			}
			batch, err := decode()
			ended = err
			stats, estimate := reader.Stats(), int64(d.BatchBytes())
			weight := z.weight(z.size(estimate, func() int { return sig.Size(batch) }), estimate)
			out.weight += weight
			out.records = stats.Records
			out.charged += batchCost(weight, stats.Records-last.Records, stats.PlainBytes-last.PlainBytes,
				newlyHeld(int64(last.HeldBytes), int64(stats.HeldBytes)), stats.AddedBytes-last.AddedBytes)
			last = stats
			if keep {
				kept = append(kept, batch)
			}
			return batch, err
		}
		d.Reader = closing{reader, func() {
			if !keep || ended != nil && ended != io.EOF {
				return
			}
			out.counted = int64(reader.Stats().HeldBytes)
			both := liveHeap() - before
			runtime.KeepAlive(kept)
			kept = nil
			out.held = liveHeap() - before
			out.batch = both - out.held
		}}
		return d, err
	}
	p, err := newPipe(&watched, op, s.core, settings, func(context.Context, T) error { return nil })
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	st := newStream(p, idleTransport{bytes.NewReader(data), ctx})
	if keep {
		before = liveHeap()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	allocated, cpu := allocatedBytes(), threadTime()
	err = st.serve()
	if err != nil {
		out.charged += errorCost
	}
	out.cpu, out.allocated = threadTime()-cpu, allocatedBytes()-allocated
	if err != nil {
		require.NotContains(t, err.Error(), "panicked")
	}
	return out
}

// closing calls a function before a reader is closed.
type closing struct {
	signal.Reader
	before func()
}

func (c closing) Close() {
	c.before()
	c.Reader.Close()
}

// idleTransport reads the bytes of a stream, and ignores acknowledgements and rejections.
type idleTransport struct {
	io.Reader
	ctx context.Context
}

func (t idleTransport) Context() context.Context         { return t.ctx }
func (idleTransport) ReaderOptions() []stef.ReaderOption { return nil }
func (idleTransport) StopReading()                       {}
func (idleTransport) Decoded(uint64)                     {}
func (idleTransport) EndedByServer() bool                { return false }
func (idleTransport) Reject(uint64, uint64)              {}
func (idleTransport) Ack(uint64, uint64)                 {}
func (idleTransport) Acked() uint64                      { return 0 }

func liveHeap() int64 {
	runtime.GC() // the second collection empties pools
	runtime.GC()
	return readMetric("/gc/heap/live:bytes")
}

func allocatedBytes() int64 { return readMetric("/gc/heap/allocs:bytes") }

func readMetric(name string) int64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// threadTime returns the processor time of this thread.
func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if err := syscall.Getrusage(thread, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// objective is a ratio, such as memory per byte charged. The search looks for hostile streams
// that maximize it.
type objective struct {
	Name string
	keep bool
	// overGRPC makes the search measure a server with the default configuration.
	overGRPC bool
	// relative says that the bound is a multiple of the ratio that the recordings have.
	relative bool
	// ratio returns the ratio of an outcome. most returns the bound that the test checks;
	// ordinary is the ratio of the recordings of this repository.
	ratio func(o *outcome) float64
	most  func(ordinary float64) float64
}

var objectives = []objective{
	// The charge covers CPU time: for each byte charged, a stream needs at most a few times
	// the CPU time of ordinary telemetry.
	{"processor time for each byte charged, ns", false, false, true, func(o *outcome) float64 {
		return float64(o.cpu) / float64(o.charged)
	}, func(ordinary float64) float64 { return 8 * ordinary }},
	{"allocation for each byte charged or sent", false, false, false, func(o *outcome) float64 {
		return float64(o.allocated) / float64(o.charged+16*o.sent+mib)
	}, func(float64) float64 { return 12 }},
	// README.md says that the memory of batches is at most three times the admitted bytes. It
	// also says that the worst known stream holds 1.3 times the counted memory plus 3 MiB: the
	// second bound is a little higher.
	{"live memory of batches for each byte admitted", true, false, false, func(o *outcome) float64 {
		return float64(o.batch) / float64(o.weight+mib/4)
	}, func(float64) float64 { return memoryPerOTLP }},
	{"live memory of the stream for each byte counted", true, false, false, func(o *outcome) float64 {
		return float64(o.held) / float64(o.counted+streamAllowance)
	}, func(float64) float64 { return 1.5 }},
	// This measures a server and a client in one process, with messages, streams and responses.
	{"allocation over gRPC for each byte charged or sent", false, true, false, func(o *outcome) float64 {
		return float64(o.allocated) / float64(o.charged+16*o.sent+mib)
	}, func(float64) float64 { return 12 }},
}

// found is the recipe of a hostile stream that a search found.
type found struct {
	Objective string  `json:"objective"`
	Recipe    string  `json:"recipe"`
	Ratio     float64 `json:"ratio"`
}

const foundFile = "testdata/hostile.json"

// knownRecipes returns the recipes that earlier searches found.
func knownRecipes(t testing.TB) (all []found) {
	data, err := os.ReadFile(foundFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &all))
	return all
}

func parseRecipe(t testing.TB, text string) (r recipe) {
	data, err := hex.DecodeString(text)
	require.NoError(t, err)
	require.Len(t, data, len(r))
	copy(r[:], data)
	return r
}

// TestLaw checks the bounds of the objectives with the streams that cost most in earlier searches. If
// STEF_HOSTILE is set to the time for each objective, it searches for streams that cost more, and
// STEF_HOSTILE_UPDATE=1 saves them ("make hostile"). With STEF_HOSTILE or STEF_LONG=1, it also prints
// the ratios of the recordings and, for each hostile stream, the lowest ratio of five measurements.
func TestLaw(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	var patience time.Duration
	if text := os.Getenv("STEF_HOSTILE"); text != "" {
		var err error
		patience, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	exact := patience > 0 || os.Getenv("STEF_LONG") != ""
	known := knownRecipes(t)
	recorded := recordedStreams(t)
	suffered := map[suffering]outcome{}
	var worst []found
	for i := range objectives {
		o := &objectives[i]
		t.Run(o.Name, func(t *testing.T) {
			var ordinary float64
			if exact || o.relative {
				ordinary = ordinaryRatio(t, o, recorded)
			}
			most := o.most(ordinary)
			s := search{t: t, objective: o, random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))}
			if !exact {
				s.suffered = suffered
			}
			for i, k := range known {
				if i > 0 && o.overGRPC && !exact {
					break // each recipe takes seconds: expensive clients are slowed down
				}
				r := parseRecipe(t, k.Recipe)
				require.LessOrEqual(t, s.within(&r, most).ratio, most, "%v", &r)
				if exact {
					s.try(r)
				}
			}
			if !exact {
				return
			}
			s.climb(patience)
			best := s.best[0]
			final := s.measure(&best.recipe, 5)
			t.Logf("%d streams; ordinary %.2f, worst %.2f, bound %.2f: %d bytes, %d records, %d charged, %d admitted, %v, %d allocated, %d and %d live; recipe %v",
				s.tried, ordinary, final.ratio, most, final.sent, final.records, final.charged, final.weight, final.cpu, final.allocated, final.batch, final.held, &best.recipe)
			worst = append(worst, found{o.Name, best.recipe.String(), final.ratio})
			require.LessOrEqual(t, final.ratio, most)
		})
	}
	if exact && os.Getenv("STEF_HOSTILE_UPDATE") != "" {
		data, err := json.MarshalIndent(worst, "", "\t")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(foundFile, append(data, '\n'), 0o644))
	}
}

// rooted is a stream with the name of its root struct.
type rooted struct {
	root   string
	stream []byte
}

// recordedStreams returns the recordings as streams.
func recordedStreams(t testing.TB) (list []rooted) {
	for _, r := range recordings.All() {
		parts, err := r.Parts()
		require.NoError(t, err)
		switch r.Signal {
		case "metrics":
			list = append(list, rooted{otelstef.MetricsRootName, streamOf(t, signal.Metrics, otelstef.CompactMetrics(), parts)})
		case "traces":
			list = append(list, rooted{otelstef.SpansRootName, streamOf(t, signal.Traces, otelstef.CompactSpans(), parts)})
		default:
			list = append(list, rooted{otelstef.LogsRootName, streamOf(t, signal.Logs, otelstef.CompactLogs(), parts)})
		}
	}
	return list
}

// ordinaryRatio returns the ratio of all recordings together.
func ordinaryRatio(t testing.TB, o *objective, recorded []rooted) float64 {
	var sum outcome
	for _, r := range recorded {
		x := suffer(t, r.root, r.stream, o.keep)
		sum.sent, sum.charged, sum.weight = sum.sent+x.sent, sum.charged+x.charged, sum.weight+x.weight
		sum.cpu, sum.allocated = sum.cpu+x.cpu, sum.allocated+x.allocated
		sum.batch, sum.held, sum.counted = sum.batch+x.batch, max(sum.held, x.held), max(sum.counted, x.counted)
	}
	return o.ratio(&sum)
}

func streamOf[T any](t testing.TB, sig *signal.Descriptor[T], form stef.WriterOption, parts [][]byte) []byte {
	var out bytes.Buffer
	e, err := sig.NewEncoder(&out, nil, form, stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	for _, part := range parts {
		batch, err := sig.Unmarshal(part)
		require.NoError(t, err)
		require.NoError(t, e.Encode(batch))
		require.NoError(t, e.Writer.Flush())
	}
	return out.Bytes()
}

// search is a random search (hill climbing) that starts from the best known recipes.
type search struct {
	t         testing.TB
	objective *objective
	random    *rand.Rand
	served    *served
	best      []candidate // the worst streams first, at most 8
	tried     int
	// suffered caches the first measurement of each recipe. Objectives that measure the same values
	// share the map. If it is nil, nothing is cached.
	suffered map[suffering]outcome
}

// suffering is the key of a cached measurement: the recipe, and what is measured (see suffer).
type suffering struct {
	recipe
	keep bool
}

type candidate struct {
	recipe
	outcome
	ratio float64
}

// measure measures a recipe several times and returns the measurement with the lowest ratio.
func (s *search) measure(r *recipe, times int) candidate { return s.least(r, times, 0) }

// within measures at most five times, until the ratio is at most the bound most. One measurement
// within the bound is sufficient: other load of the machine makes ratios larger, never smaller.
func (s *search) within(r *recipe, most float64) candidate { return s.least(r, 5, most) }

// least measures several times and returns the measurement with the lowest ratio. It stops when the
// ratio is at most enough.
func (s *search) least(r *recipe, times int, enough float64) candidate {
	var stream []byte
	defer func() {
		if s.t.Failed() {
			s.t.Logf("the recipe that failed: %v", *r)
		}
	}()
	var least candidate
	for i := range times {
		c := candidate{recipe: *r}
		key := suffering{*r, s.objective.keep}
		known, ok := s.suffered[key]
		if ok = ok && i == 0 && !s.objective.overGRPC; ok {
			c.outcome = known
		} else {
			if stream == nil {
				stream = r.cook(s.t)
			}
			c.outcome = s.suffer(r.root(), stream)
		}
		if s.suffered != nil && !s.objective.overGRPC && i == 0 {
			s.suffered[key] = c.outcome
		}
		if c.ratio = s.objective.ratio(&c.outcome); i == 0 || c.ratio < least.ratio {
			least = c
		}
		if least.ratio <= enough {
			break
		}
	}
	return least
}

func (s *search) suffer(root string, stream []byte) outcome {
	if s.objective.overGRPC {
		if s.served == nil {
			s.served = newServed(s.t)
		}
		return s.served.suffer(root, stream)
	}
	return suffer(s.t, root, stream, s.objective.keep)
}

// try measures a recipe and keeps it if it is among the worst recipes.
func (s *search) try(r recipe) {
	const kept = 8
	s.tried++
	c := s.measure(&r, 1)
	if len(s.best) == kept && c.ratio <= s.best[kept-1].ratio {
		return
	}
	c = s.measure(&r, 3)
	at, _ := slices.BinarySearchFunc(s.best, c, func(a, b candidate) int { return cmp.Compare(b.ratio, a.ratio) })
	s.best = slices.Insert(s.best, at, c)
	s.best = s.best[:min(len(s.best), kept)]
}

func (s *search) climb(patience time.Duration) {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if len(s.best) == 0 || s.random.IntN(8) == 0 {
			var r recipe
			for i := range r {
				if s.random.IntN(2) == 0 {
					r[i] = byte(s.random.Uint32())
				}
			}
			s.try(r)
			continue
		}
		r := s.best[s.random.IntN(len(s.best))].recipe
		for range 1 + s.random.IntN(3) {
			switch i := s.random.IntN(len(r)); s.random.IntN(4) {
			case 0:
				r[i] = 0
			case 1:
				r[i] = byte(s.random.Uint32())
			default: // change the gene by at most 20
				r[i] = byte(min(255, max(0, int(r[i])+s.random.IntN(41)-20)))
			}
		}
		if other := s.best[s.random.IntN(len(s.best))].recipe; s.random.IntN(4) == 0 {
			i := s.random.IntN(len(r))
			copy(r[i:], other[i:])
		}
		s.try(r)
	}
}
