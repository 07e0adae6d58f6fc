// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/benchmarks/transport"
)

// rules returns the sentences at the end of the page of the worker sweep. They say which
// setting to use when, and are derived from the figures of the page. The most important rules
// are first, and are also in the guide.
func (c *Context) rules(p sweepPlan) []string {
	rules := []string{
		c.compressRule(p, transport.OTLP), c.compressRule(p, transport.STEF),
		c.workersRule(), c.requestsRule(p),
	}
	for _, trip := range p.longTrips {
		rules = append(rules, c.fastestRule(trip))
	}
	return slices.DeleteFunc(rules, func(rule string) bool { return rule == "" })
}

// guiding is the number of rules that the guide shows.
const guiding = 3

// addRules adds rules to the page of a study and stores them for the guide.
func (c *Context) addRules(o *Outcome, rules []string) {
	if len(rules) == 0 {
		return
	}
	o.add(report.Heading("Rules of thumb: when to use which"))
	for _, rule := range rules {
		o.add(report.Prose("• " + rule))
	}
	c.Figures.Rules = append(c.Figures.Rules, rules[:min(guiding, len(rules))]...)
}

// sent returns the figure of a protocol at a round trip, with the most workers and OTLP clients.
func (c *Context) sent(p sweepPlan, protocol transport.Protocol, trip time.Duration, compression transport.Compression) (RunFigure, bool) {
	clients := slices.Max(p.clients)
	if protocol == transport.STEF {
		clients = 1
	}
	for _, f := range c.Figures.Runs {
		if f.Study == "workers-latency" && f.Protocol == protocol && f.RoundTrip == trip && f.Compression == compression && f.Clients == clients && f.Workers == slices.Max(p.workers) {
			return f, true
		}
	}
	return none(), false
}

func (c *Context) compressRule(p sweepPlan, protocol transport.Protocol) string {
	plain, ok := c.sent(p, protocol, 0, transport.None)
	packed, _ := c.sent(p, protocol, 0, transport.Zstd)
	if !ok || !apart(plain, packed) {
		return ""
	}
	rule := fmt.Sprintf("%s: without latency zstd leaves %.0f %% of the events per second, for %.0f %% of the bytes", plain.way(),
		100*packed.itemsPerSecond()/plain.itemsPerSecond(), 100*packed.bytesPerItem()/plain.bytesPerItem())
	switch from := c.crossing(p, protocol); from {
	case millis(0):
		return rule + ". Compress always."
	case noGain:
		return rule + ", and it won at no round trip that was tried. Compress where bytes cost."
	default:
		return rule + "; it wins from a round trip of " + from + " on. Compress from there, and nearer by where bytes cost."
	}
}

func (c *Context) workersRule() string {
	plateau := c.plateau(transport.OTLP)
	if plateau == "-" || c.noisy() {
		return ""
	}
	return "Workers: without latency, " + plateau + ", reach nine tenths of the best throughput of OTLP. More of them wait for processors; with latency, more requests under way are what fills the link."
}

// plateauShare is the minimum throughput of settings on the plateau, relative to the best.
const plateauShare = 0.9

// noisy reports whether the spread of the best setting is too large to tell which settings are on
// the plateau.
func (c *Context) noisy() bool {
	var best RunFigure
	for _, f := range c.Figures.Runs {
		if f.onPlateau(transport.OTLP) && f.itemsPerSecond() > best.itemsPerSecond() {
			best = f
		}
	}
	return best.Spread > 1-plateauShare
}

// requestsRule is OTEP 0035's formula for the greatest throughput, with our figures.
func (c *Context) requestsRule(p sweepPlan) string {
	near, ok := c.sent(p, transport.OTLP, 0, transport.None)
	far := slices.Max(p.longTrips)
	if !ok || far == 0 {
		return ""
	}
	rule := fmt.Sprintf("Requests under way: throughput is at most requests times events of a batch by round trip. To keep %s events per second at %s, OTLP needs about %s requests of %d events under way",
		report.Whole(near.itemsPerSecond()), millis(far), report.Whole(near.itemsPerSecond()*far.Seconds()/float64(p.records)), p.records)
	if stef, ok := c.sent(p, transport.STEF, 0, transport.None); ok {
		rule += fmt.Sprintf("; a STEF stream sends on without waiting and needs only windows that hold what is under way, about %.0f MiB uncompressed",
			near.itemsPerSecond()*far.Seconds()*stef.bytesPerItem()/(1<<20))
	}
	return rule + "."
}

// fastestRule names the setting with the highest throughput at a round trip, and the fastest
// setting of OTLP. It returns "" if another setting is as fast within the spread.
func (c *Context) fastestRule(trip time.Duration) string {
	var best, otlp RunFigure
	for _, f := range c.Figures.Runs {
		if f.Study != "workers-latency" || f.RoundTrip != trip {
			continue
		}
		if f.itemsPerSecond() > best.itemsPerSecond() {
			best = f
		}
		if f.Protocol == transport.OTLP && f.itemsPerSecond() > otlp.itemsPerSecond() {
			otlp = f
		}
	}
	if best.Items == 0 || otlp.Items == 0 {
		return ""
	}
	for _, f := range c.Figures.Runs {
		if f.Study == "workers-latency" && f.RoundTrip == trip && f.Config != best.Config && !apart(f, best) {
			return ""
		}
	}
	describe := func(f RunFigure) string {
		return fmt.Sprintf("%s with compression %s, %s events/s and %s per CPU second", f.way(), f.Compression, report.Whole(f.itemsPerSecond()), report.Whole(f.itemsPerCPUSecond()))
	}
	if best.Protocol == transport.OTLP {
		return fmt.Sprintf("At %s: most is %s.", millis(trip), describe(best))
	}
	return fmt.Sprintf("At %s: most is %s; the best of OTLP is %s.", millis(trip), describe(best), describe(otlp))
}
