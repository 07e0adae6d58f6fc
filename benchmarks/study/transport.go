// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/benchmarks/transport"
	"github.com/otelstef/stef/internal/otlpfile"
)

// Latencies are the round trips of OTEP 0035.
var Latencies = []time.Duration{20 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond}

func (c *Context) latencies() []time.Duration {
	if c.Tiny {
		return Latencies[:2]
	}
	return Latencies
}

// RunFigure is the cost of sending a load with a configuration: medians over rounds.
type RunFigure struct {
	Study string
	// Load names the batches.
	Load string
	transport.Config
	// Items is the number of items in a batch.
	Items     int
	Batches   float64
	Wall, CPU float64 // seconds
	// PerSecond and PerCPUSecond count batches; Spread and CPUSpread are their spreads.
	PerSecond, PerCPUSecond, Spread, CPUSpread float64
	// PerBatch is the bytes on the network, in both directions.
	PerBatch float64
}

// none is the figure of a missing measurement.
func none() RunFigure {
	nan := math.NaN()
	return RunFigure{Items: 1, Batches: nan, Wall: nan, CPU: nan, PerSecond: nan, PerCPUSecond: nan, Spread: nan, CPUSpread: nan, PerBatch: nan}
}

// apart reports whether the throughputs of two runs differ by more than the sum of their spreads.
func apart(a, b RunFigure) bool {
	return math.Abs(a.itemsPerSecond()-b.itemsPerSecond()) > a.Spread*a.itemsPerSecond()+b.Spread*b.itemsPerSecond()
}

func (r RunFigure) itemsPerSecond() float64    { return r.PerSecond * float64(r.Items) }
func (r RunFigure) itemsPerCPUSecond() float64 { return r.PerCPUSecond * float64(r.Items) }
func (r RunFigure) bytesPerItem() float64      { return r.PerBatch / float64(r.Items) }

// way names the protocol and the concurrency in the style of OTEP 0035.
func (r RunFigure) way() string { return way(r.Config) }

func way(c transport.Config) string {
	switch {
	case c.Protocol == transport.STEF && c.Clients == 1:
		return "STEF, 1 stream"
	case c.Protocol == transport.STEF:
		return fmt.Sprintf("STEF, %d streams", c.Clients)
	case c.Clients == 1:
		return "OTLP unary, sequential"
	}
	return fmt.Sprintf("OTLP unary, %d concurrent", c.Clients)
}

// runTimeout is the time limit of a run. A run that exceeds it counts as blocked.
const runTimeout = 5 * time.Minute

// From a round trip of longTrip on, a run sends the batches several times (in laps), each time with new
// ids and times. So the run lasts for several round trips. Otherwise the wait for the last answers would
// dominate. The batches exceed the compression window of STEF, so a lap does not compress better than the
// lap before.
const longTrip = 20 * time.Millisecond

// lasting returns the duration of a run, or 0 to send each batch once.
func (c *Context) lasting(trip time.Duration) time.Duration {
	switch {
	case trip < longTrip || c.Tiny:
		return 0
	case c.Full:
		return max(time.Second, 5*trip)
	}
	return max(600*time.Millisecond, 5*trip)
}

// A configuration with a round trip below longTrip is run again until its runs have used rowCPU
// of CPU time together, but at most mostRounds times.
const (
	rowCPU     = time.Second
	mostRounds = 20
)

// enough reports whether a configuration needs no more runs. Each configuration needs the
// rounds of the report. It also needs rowCPU of CPU time or mostRounds runs, except in a
// tiny report or with a long round trip.
func (c *Context) enough(trip time.Duration, results []transport.Result) bool {
	n := len(results)
	if n < c.rounds(trip) || n >= mostRounds || trip >= longTrip || c.Tiny {
		return n >= c.rounds(trip)
	}
	var cpu time.Duration
	for _, r := range results {
		cpu += r.CPU
	}
	return cpu >= rowCPU
}

// runs sends a load with each configuration, in rounds. Each round has one run of every
// configuration that needs more runs.
func (c *Context) runs(study, load string, configs []transport.Config, batches []otlpfile.Batch) ([]RunFigure, error) {
	all := make([][]transport.Result, len(configs))
	for round, ran := 0, true; ran; round++ {
		ran = false
		for k := range configs {
			i := (k + round) % len(configs)
			config := configs[i]
			if c.enough(config.RoundTrip, all[i]) {
				continue
			}
			ran = true
			config.For = c.lasting(config.RoundTrip)
			ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
			r, err := transport.Run(ctx, config, batches)
			cancel()
			if err != nil {
				return nil, fmt.Errorf("%s, %s, %s: %w", load, way(config), config.Compression, err)
			}
			all[i] = append(all[i], r)
		}
	}
	var figures []RunFigure
	for i, results := range all {
		figures = append(figures, runFigure(study, load, configs[i], results))
	}
	c.Figures.Runs = append(c.Figures.Runs, figures...)
	return figures, nil
}

func runFigure(study, load string, config transport.Config, results []transport.Result) RunFigure {
	values := func(f func(transport.Result) float64) []float64 {
		var all []float64
		for _, r := range results {
			all = append(all, f(r))
		}
		return all
	}
	perSecond, perCPUSecond := values(transport.Result.BatchesPerSecond), values(transport.Result.BatchesPerCPUSecond)
	return RunFigure{
		Study: study, Load: load, Config: config, Items: results[0].Items / max(1, results[0].Batches),
		Batches:   measure.Median(values(func(r transport.Result) float64 { return float64(r.Batches) })),
		Wall:      measure.Median(values(func(r transport.Result) float64 { return r.Wall.Seconds() })),
		CPU:       measure.Median(values(func(r transport.Result) float64 { return r.CPU.Seconds() })),
		PerSecond: measure.Median(perSecond), Spread: measure.Spread(perSecond),
		PerCPUSecond: measure.Median(perCPUSecond), CPUSpread: measure.Spread(perCPUSecond),
		PerBatch: measure.Median(values(func(r transport.Result) float64 { return float64(r.Up+r.Down) / float64(r.Batches) })),
	}
}

// rounds is the minimum number of runs of each way to send. It is smaller for long round trips,
// because their runs last longer.
func (c *Context) rounds(trip time.Duration) int {
	switch {
	case c.Tiny:
		return 1
	case trip >= longTrip:
		return 3
	}
	return 5
}

func spans(batches, spans, attributes int) []otlpfile.Batch {
	var all []otlpfile.Batch
	for i := range batches {
		all = append(all, dataset.Spans(spans, attributes, uint64(i)))
	}
	return all
}

// load is a load of OTEP 0035 at a round trip.
type load struct {
	name    string
	trip    time.Duration
	batches []otlpfile.Batch
}

// loads returns the loads of OTEP 0035 with fewer batches: small batches at the shortest round
// trip, and large batches at every round trip. Runs that send their batches in laps need fewer
// batches, because each stream has copies of them.
func (c *Context) loads() []load {
	small, large, lapped := 1600, 240, 60
	switch {
	case c.Tiny:
		small, large, lapped = 4, 3, 3
	case c.Full:
		small, large, lapped = 2000, 240, 200
	}
	list := []load{{"100 spans, 4 attributes", Latencies[0], spans(small, 100, 4)}}
	most := spans(large, 500, 10)
	for _, trip := range c.latencies() {
		n := large
		if c.lasting(trip) > 0 {
			n = lapped
		}
		list = append(list, load{"500 spans, 10 attributes", trip, most[:n]})
	}
	return list
}

// compressions returns what the transport tables compare at a round trip. A quick report has
// gzip only at the shortest round trip.
func (c *Context) compressions(trip time.Duration) []transport.Compression {
	if !c.Full && trip > Latencies[0] {
		return []transport.Compression{transport.None, transport.Zstd}
	}
	return []transport.Compression{transport.None, transport.Gzip, transport.Zstd}
}

// concurrent is the number of OTLP requests in flight in the measurements of OTEP 0035. streams is the
// number of streams, which OTEP 0035 calls N.
const (
	concurrent = 20
	streams    = 10
)

var latencyWays = []transport.Config{
	{Protocol: transport.OTLP, Clients: 1}, {Protocol: transport.OTLP, Clients: concurrent},
	{Protocol: transport.STEF, Clients: 1}, {Protocol: transport.STEF, Clients: streams},
}

func millis(d time.Duration) string { return fmt.Sprintf("%g ms", float64(d)/1e6) }

// transportNotes returns the given notes, and the note that all transport tables have.
func transportNotes(more ...string) []string {
	return append(more, fmt.Sprintf("Client and server in one process, real gRPC over an in-memory connection with the injected round trip; flow control windows of %d MiB "+
		"(InitialWindowSize, InitialConnWindowSize) at both ends. CPU is that of both ends and of the network between them. The server deserialises to pdata and looks at each item. "+
		"zstd and gzip of OTLP are those of gRPC (each message, compressors of the Collector's configgrpc and of grpc-go); zstd of STEF is that of the format, gzip that of gRPC. Batches are sent once each in a run, and a row has at least 5 runs and %v of CPU in all, in at most %d runs; from a round trip of %s on, 3 runs send them in laps for some round trips. Every lap has new ids and later times; changing them is part of the CPU of both protocols.", transport.DefaultWindow>>20, rowCPU, mostRounds, millis(longTrip)))
}

// latency repeats the measurement of appendix B of OTEP 0035 with the protocols of today.
func latency(c *Context) (*Outcome, error) {
	o := &Outcome{}
	o.add(report.Prose("OTEP 0035 compared transports that its authors wrote for the purpose. Equal: the shapes of batches (100 spans with 4 attributes, 500 with 10), the round trips, 20 concurrent requests, " +
		"the columns, client and server on one machine, CPU counted for both. Different: fewer batches a run, but several runs in turns; OTLP of today with the Collector's pdata; our machine; " +
		"the server looks at each span; bytes on the wire and spread are added; STEF takes the place of the streaming prototypes: it sends without waiting, as their Async ways did, and is not closed every 30 seconds. " +
		"WebSocket and OpenCensus ways have no counterpart here."))
	t := c.table("latency", "Ways to send, as in appendix B of OTEP 0035", transportNotes("Medians of the rounds; spread: half the distance of the quartiles of the throughput. "+
		"wire: bytes on the network both ways, frames of HTTP/2 included, a batch.")...)
	t.Columns = append(report.Text("round trip", "load", "way", "compression"), report.Column{Name: "batches", Format: report.Whole},
		report.Column{Name: "CPU s", Format: report.Fixed(2)}, report.Column{Name: "wall s", Format: report.Fixed(2)}, report.Column{Name: "spread", Format: report.Percent},
		report.Column{Name: "batches/CPU s", Format: report.Fixed(1)}, report.Column{Name: "batches/wall s", Format: report.Fixed(1)}, report.Column{Name: "wire B/batch", Format: report.Whole})
	for _, l := range c.loads() {
		var configs []transport.Config
		for _, p := range c.compressions(l.trip) {
			for _, of := range latencyWays {
				configs = append(configs, transport.Config{Protocol: of.Protocol, Compression: p, Clients: of.Clients, RoundTrip: l.trip, Window: transport.DefaultWindow})
			}
		}
		figures, err := c.runs("latency", l.name, configs, l.batches)
		if err != nil {
			return nil, err
		}
		for _, f := range figures {
			t.Add(millis(f.RoundTrip), f.Load, f.way(), string(f.Compression), f.Batches, f.CPU, f.Wall, f.Spread, f.PerCPUSecond, f.PerSecond, f.PerBatch)
			t.Bench = append(t.Bench, runLine("Latency", f))
		}
	}
	factors, err := c.factors()
	if err != nil {
		return nil, err
	}
	raw, err := c.otepRaw()
	if err != nil {
		return nil, err
	}
	chart := c.Figures.latencyChart()
	o.add(factors, t, chart, raw)
	o.Blocks = map[string]string{"transport": c.Figures.transportBlock() + picture(chart)}
	return o, nil
}

func runLine(name string, f RunFigure) string {
	return fmt.Sprintf("Benchmark%s/trip=%v/spans=%d/protocol=%s/clients=%d/compression=%s 1 %.0f ns/op %.1f batches/s %.1f batches/cpu-s %.0f wire-B/batch",
		name, f.RoundTrip, f.Items, f.Protocol, f.Clients, f.Compression, f.Wall*1e9, f.PerSecond, f.PerCPUSecond, f.PerBatch)
}

// find returns the run of the study latency with batches of 500 spans.
func (f *Figures) find(trip time.Duration, p transport.Protocol, clients int, compression transport.Compression) (RunFigure, bool) {
	for _, r := range f.Runs {
		if r.Study == "latency" && r.RoundTrip == trip && r.Items == 500 && r.Protocol == p && r.Clients == clients && r.Compression == compression {
			return r, true
		}
	}
	return none(), false
}

// claimed are the factors by round trip that OTEP 0035 printed.
var claimed = map[time.Duration]float64{Latencies[0]: 1.7, Latencies[1]: 2.1, Latencies[2]: 4.9, Latencies[3]: 6.9}

const quotedOTEP = "the columns of OTEP 0035 are its own, of 2019, an i7-7500U and its reference implementations."

// rawFactors are the factors computed from the raw results of OTEP 0035, by round trip in
// milliseconds.
func rawFactors() (map[string]float64, error) {
	rows, err := publishedRows("otep-0035")
	if err != nil {
		return nil, err
	}
	factors := map[string]float64{}
	for _, concurrently := range []bool{false, true} {
		for _, r := range rows {
			trip, spans, transport, throughput := r[0], r[1], r[4], figure(r[8])
			switch {
			case spans != "500":
			case !concurrently && transport == "GRPC/Unary":
				factors[trip] = 1 / throughput
			case concurrently && transport == "GRPC/Unary/Async" && factors[trip] < 1:
				factors[trip] *= throughput
			}
		}
	}
	return factors, nil
}

func (c *Context) factors() (*report.Table, error) {
	raw, err := rawFactors()
	if err != nil {
		return nil, err
	}
	t := c.table("factors", "Throughput of 20 concurrent unary requests relative to sequential ones",
		"500 spans with 10 attributes a batch, no compression. Quoted: "+quotedOTEP+" Its raw results give other factors than its table of factors; both are shown. Beside it what one stream of STEF reaches without concurrency. "+
			"The bound of 20 is approached only where the round trip is most of the time of a request; where it is nothing, the bound is the number of cores.")
	factor := func(name string) report.Column { return report.Column{Name: name, Format: report.Fixed(1)} }
	t.Columns = append(report.Text("round trip"), factor("OTEP 0035, factors"), factor("OTEP 0035, raw results"), factor("here"), factor("STEF, 1 stream / sequential"), factor("STEF, 1 stream / 20 concurrent"))
	for _, trip := range Latencies {
		get := func(p transport.Protocol, clients int) float64 {
			f, _ := c.Figures.find(trip, p, clients, transport.None)
			return f.PerSecond
		}
		one, many, stef := get(transport.OTLP, 1), get(transport.OTLP, concurrent), get(transport.STEF, 1)
		t.Add(millis(trip), claimed[trip], raw[fmt.Sprintf("%g", float64(trip)/1e6)], many/one, stef/one, stef/many)
	}
	return t, nil
}

func (c *Context) otepRaw() (*report.Table, error) {
	t := &report.Table{Name: "otep-0035-raw", Title: "The raw results of OTEP 0035", Quoted: "OTEP 0035, appendix B, as printed there.",
		Columns: report.Text("round trip, ms", "spans", "attributes", "batches", "transport")}
	for _, name := range []string{"CPU s", "wall s", "batches/CPU s", "batches/wall s"} {
		t.Columns = append(t.Columns, report.Column{Name: name, Format: report.Fixed(1)})
	}
	rows, err := publishedRows("otep-0035")
	for _, r := range rows {
		t.Add(r[0], r[1], r[2], r[3], r[4], figure(r[5]), figure(r[6]), figure(r[7]), figure(r[8]))
	}
	return t, err
}

// unsteady is the spread above which the title of the chart names a point, because the median
// of such runs says little.
const unsteady = 0.1

// latencyChart shows throughput against latency, for large batches with zstd.
func (f *Figures) latencyChart() *report.Chart {
	chart := &report.Chart{Name: "latency", Title: "Throughput against latency, 500 spans a batch, zstd", X: "round trip, ms", Y: "batches per second", LogX: true, LogY: true, Picture: true}
	var spreads []string
	for _, of := range latencyWays {
		s := report.Series{Name: way(of)}
		for _, trip := range Latencies {
			if f, ok := f.find(trip, of.Protocol, of.Clients, transport.Zstd); ok {
				s.Points = append(s.Points, report.Point{X: float64(trip) / 1e6, Y: f.PerSecond})
				if f.Spread > unsteady {
					spreads = append(spreads, fmt.Sprintf("%.0f %% (%s, %s)", 100*f.Spread, s.Name, millis(trip)))
				}
			}
		}
		chart.Series = append(chart.Series, s)
	}
	if len(spreads) > 0 {
		chart.Title += "; spread " + strings.Join(spreads, ", ")
	}
	return chart
}

// concurrency measures throughput by the number of concurrent OTLP requests and of STEF
// streams.
func concurrency(c *Context) (*Outcome, error) {
	requests, lines := []int{1, 4, 16, 64}, []int{1, 4, 16}
	batches := 128
	switch {
	case c.Tiny:
		requests, lines, batches = []int{1, 4}, []int{1, 2}, 4
	case c.Full:
		requests, lines, batches = []int{1, 2, 4, 8, 16, 32, 64}, []int{1, 2, 4, 8, 16}, 256
	}
	compressions := []transport.Compression{transport.Zstd}
	if c.Full {
		compressions = c.compressions(0)
	}
	load := spans(batches, 500, 10)
	t := c.table("concurrency", "Throughput by concurrency", transportNotes(fmt.Sprintf("%d batches of 500 spans with 10 attributes, half of them where they are sent in laps.", batches))...)
	t.Columns = append(report.Text("round trip", "compression", "way"), report.Column{Name: "batches/s", Format: report.Fixed(1)}, report.Column{Name: "spread", Format: report.Percent},
		report.Column{Name: "batches/CPU s", Format: report.Fixed(1)}, report.Column{Name: "wire B/batch", Format: report.Whole})
	o := &Outcome{}
	for _, trip := range c.latencies() {
		if !c.Full && trip != Latencies[0] && trip != Latencies[2] {
			continue
		}
		chart := &report.Chart{Name: "concurrency-" + fmt.Sprint(trip), Title: "Throughput by concurrency, zstd, round trip " + millis(trip),
			X: "requests under way, or streams", Y: "batches per second", LogX: true, LogY: true}
		names := map[transport.Protocol]string{transport.OTLP: "OTLP unary", transport.STEF: "STEF streams"}
		for _, p := range compressions {
			var configs []transport.Config
			for _, n := range requests {
				configs = append(configs, transport.Config{Protocol: transport.OTLP, Compression: p, Clients: n, RoundTrip: trip, Window: transport.DefaultWindow})
			}
			for _, n := range lines {
				configs = append(configs, transport.Config{Protocol: transport.STEF, Compression: p, Clients: n, RoundTrip: trip, Window: transport.DefaultWindow})
			}
			sent := load
			if c.lasting(trip) > 0 {
				sent = load[:len(load)/2]
			}
			figures, err := c.runs("concurrency", "spans", configs, sent)
			if err != nil {
				return nil, err
			}
			for _, f := range figures {
				t.Add(millis(trip), string(p), f.way(), f.PerSecond, f.Spread, f.PerCPUSecond, f.PerBatch)
				t.Bench = append(t.Bench, runLine("Concurrency", f))
				if p == transport.Zstd {
					chart.AddPoint(names[f.Protocol], report.Point{X: float64(f.Clients), Y: f.PerSecond})
				}
			}
		}
		o.add(chart)
	}
	o.Parts = append([]report.Part{t}, o.Parts...)
	return o, nil
}
