// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/benchmarks/transport"
	"github.com/otelstef/stef/internal/otlpfile"
)

type sweepPlan struct {
	batches, records int
	clients, workers []int
	trips            []time.Duration
	// longTrips are the round trips that are measured only with the largest number of clients and
	// workers.
	longTrips []time.Duration
	streams   []int
}

func (c *Context) plan() sweepPlan {
	ms := time.Millisecond
	p := sweepPlan{96, 200, []int{1, 8, 64}, []int{1, 8}, []time.Duration{0}, []time.Duration{0, 100 * ms, 300 * ms}, []int{1, 8}}
	switch {
	case c.Tiny:
		p = sweepPlan{4, 20, []int{1, 4}, []int{1, 2}, []time.Duration{0}, []time.Duration{0, 20 * ms}, []int{1}}
	case c.Full:
		p = sweepPlan{256, 300, []int{1, 4, 8, 16, 32, 64, 128}, []int{1, 2, 4, 8, 16}, []time.Duration{0, 100 * ms}, []time.Duration{0, 100 * ms, 200 * ms, 500 * ms, 1000 * ms, 2000 * ms}, []int{1, 4, 8}}
	}
	return p
}

// workers repeats the worker sweep of the transport tuning study of AxoSyslog.
func workers(c *Context) (*Outcome, error) {
	p := c.plan()
	var batches []otlpfile.Batch
	for i := range p.batches {
		batches = append(batches, dataset.Logs(p.records, uint64(i)))
	}
	o := &Outcome{}
	o.add(report.Prose(fmt.Sprintf("The study moved logs of 1,137 bytes on average between AxoSyslog relays on machines of 22 and 16 cores with a 10 Gbit/s network, and varied workers at both ends, compression and latency. "+
		"Equal: OTLP logs over gRPC, the size of messages, what is varied, the ranges up to 2 s, events per second. Different: both ends share %d cores here; Go and the Collector's pdata in place of AxoSyslog; "+
		"lines are made up, of phrases that compress about as well as theirs did; a client worker is a request under way on one connection; a server worker is a slot to deserialise and look at a batch "+
		"(gRPC itself decompresses before that); all batches have %d records, while theirs were bounded by bytes, so that compressed ones held more; the link has no bandwidth limit beyond flow control windows "+
		"of %d MiB, which at 2 s let 8 MiB a second pass. STEF streams are added.", runtime.NumCPU(), p.records, transport.DefaultWindow>>20)))
	grid, err := workerGrid(c, p, batches)
	if err != nil {
		return nil, err
	}
	trips, chart, err := workerTrips(c, p, batches)
	if err != nil {
		return nil, err
	}
	o.add(claims(c, p), trips, chart, grid)
	c.addRules(o, c.rules(p))
	o.Blocks = map[string]string{"workers": picture(chart)}
	return o, nil
}

func workerColumns(names ...string) []report.Column {
	return append(report.Text(names...), report.Column{Name: "events/s", Format: report.Whole}, report.Column{Name: "spread", Format: report.Percent},
		report.Column{Name: "events/CPU s", Format: report.Whole}, report.Column{Name: "wire B/event", Format: report.Whole})
}

func workerRow(t *report.Table, f RunFigure, names ...any) {
	t.Add(append(names, f.itemsPerSecond(), f.Spread, f.itemsPerCPUSecond(), f.bytesPerItem())...)
	t.Bench = append(t.Bench, fmt.Sprintf("BenchmarkWorkers/trip=%v/protocol=%s/clients=%d/workers=%d/compression=%s 1 %.0f ns/op %.0f events/s",
		f.RoundTrip, f.Protocol, f.Clients, f.Workers, f.Compression, f.Wall*1e9, f.itemsPerSecond()))
}

func workerGrid(c *Context, p sweepPlan, batches []otlpfile.Batch) (*report.Table, error) {
	t := c.table("workers", "Events per second by workers", transportNotes(fmt.Sprintf("%d batches of %d records.", p.batches, p.records))...)
	t.Columns = workerColumns("round trip", "compression", "way", "server workers")
	for _, trip := range p.trips {
		var configs []transport.Config
		for _, compression := range []transport.Compression{transport.None, transport.Zstd} {
			for _, workers := range p.workers {
				for _, clients := range p.clients {
					configs = append(configs, transport.Config{Protocol: transport.OTLP, Compression: compression, Clients: clients, Workers: workers, RoundTrip: trip, Window: transport.DefaultWindow})
				}
				for _, n := range p.streams {
					configs = append(configs, transport.Config{Protocol: transport.STEF, Compression: compression, Clients: n, Workers: workers, RoundTrip: trip, Window: transport.DefaultWindow})
				}
			}
		}
		figures, err := c.runs("workers", "logs", configs, batches)
		if err != nil {
			return nil, err
		}
		for _, f := range figures {
			workerRow(t, f, millis(trip), string(f.Compression), f.way(), fmt.Sprint(f.Workers))
		}
	}
	return t, nil
}

func workerTrips(c *Context, p sweepPlan, batches []otlpfile.Batch) (*report.Table, *report.Chart, error) {
	clients, slots := slices.Max(p.clients), slices.Max(p.workers)
	t := c.table("workers-latency", fmt.Sprintf("Events per second by round trip, %d client and %d server workers", clients, slots),
		transportNotes(fmt.Sprintf("%d batches of %d records.", p.batches, p.records))...)
	t.Columns = workerColumns("round trip", "compression", "way")
	chart := &report.Chart{Name: "workers-latency", Title: t.Title, X: "round trip, ms", Y: "events per second", LogY: true, Picture: true}
	for _, trip := range p.longTrips {
		var configs []transport.Config
		for _, compression := range c.compressions(trip) {
			configs = append(configs,
				transport.Config{Protocol: transport.OTLP, Compression: compression, Clients: clients, Workers: slots, RoundTrip: trip, Window: transport.DefaultWindow},
				transport.Config{Protocol: transport.STEF, Compression: compression, Clients: 1, Workers: slots, RoundTrip: trip, Window: transport.DefaultWindow})
		}
		figures, err := c.runs("workers-latency", "logs", configs, batches)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range figures {
			workerRow(t, f, millis(trip), string(f.Compression), f.way())
			chart.AddPoint(f.way()+", "+string(f.Compression), report.Point{X: float64(trip) / 1e6, Y: f.itemsPerSecond()})
		}
	}
	// A quick report has gzip at one round trip only.
	chart.Series = slices.DeleteFunc(chart.Series, func(s report.Series) bool { return len(s.Points) < min(2, len(p.longTrips)) })
	return t, chart, nil
}

// claims compares the findings of the transport tuning study of AxoSyslog with our results.
func claims(c *Context, p sweepPlan) *report.Table {
	t := c.table("workers-claims", "What the study found, and what was found here", "Quoted: the column of the study is its own, of 22 and 16 cores. no and with: zstd.")
	t.Columns = report.Text("question", "study", "OTLP here", "STEF here")
	get := func(protocol transport.Protocol, trip time.Duration, compression transport.Compression) RunFigure {
		f, _ := c.sent(p, protocol, trip, compression)
		return f
	}
	add := func(question, study string, f func(transport.Protocol) string) {
		t.Add(question, study, f(transport.OTLP), f(transport.STEF))
	}
	add("bytes of a message on the wire, no and with compression", "1,500 and 159, about 90 % less", func(protocol transport.Protocol) string {
		plain, packed := get(protocol, 0, transport.None).bytesPerItem(), get(protocol, 0, transport.Zstd).bytesPerItem()
		return fmt.Sprintf("%.0f and %.0f, %.0f %% less", plain, packed, 100*(1-packed/plain))
	})
	add("throughput with compression by throughput without, no latency", "about 0.5", func(protocol transport.Protocol) string {
		return fmt.Sprintf("%.2f", get(protocol, 0, transport.Zstd).itemsPerSecond()/get(protocol, 0, transport.None).itemsPerSecond())
	})
	add("round trip from which compression wins", "above roughly 200 ms", func(protocol transport.Protocol) string { return c.crossing(p, protocol) })
	add("workers after which more gain less than a tenth", "8 server, 64 client", c.plateau)
	return t
}

// noGain is the text if zstd has a higher throughput at no measured round trip.
const noGain = "none that was tried"

// crossing returns the shortest measured round trip from which on zstd always has a higher
// throughput than no compression. Differences within the spread do not count.
func (c *Context) crossing(p sweepPlan, protocol transport.Protocol) string {
	from := noGain
	for _, trip := range slices.Backward(p.longTrips) {
		packed, _ := c.sent(p, protocol, trip, transport.Zstd)
		plain, _ := c.sent(p, protocol, trip, transport.None)
		if !apart(packed, plain) || packed.itemsPerSecond() < plain.itemsPerSecond() {
			break
		}
		from = millis(trip)
	}
	return from
}

// onPlateau reports whether a run counts for the plateau of a protocol: the settings whose
// throughput is near the best one.
func (r RunFigure) onPlateau(protocol transport.Protocol) bool {
	return r.Study == "workers" && r.Protocol == protocol && r.RoundTrip == 0 && r.Compression == transport.None
}

// plateau returns the smallest numbers of workers whose throughput without
// latency and compression is at least nine tenths of the best.
func (c *Context) plateau(protocol transport.Protocol) string {
	best := 0.0
	var all []RunFigure
	for _, f := range c.Figures.Runs {
		if f.onPlateau(protocol) {
			all = append(all, f)
			best = max(best, f.itemsPerSecond())
		}
	}
	slices.SortFunc(all, func(a, b RunFigure) int { return a.Clients*1000 + a.Workers - b.Clients*1000 - b.Workers })
	for _, f := range all {
		if f.itemsPerSecond() >= plateauShare*best {
			return fmt.Sprintf("%d server, %d client, of those tried on %d cores", f.Workers, f.Clients, runtime.NumCPU())
		}
	}
	return "-"
}
