// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/otelstef/stef/internal/netfault"
)

// pair is an agent and a backend with a network between them that counts.
type pair struct {
	agent, backend *collector
	network        *netfault.Proxy
	count          *counter
	entry          string // where the agent takes OTLP
}

// startPair starts a pair whose agent speaks a protocol to the backend.
func startPair(protocol, entry, exit string) (*pair, error) {
	p := &pair{count: &counter{}, entry: entry}
	var err error
	if p.backend, err = startBackend(exit, p.count); err != nil {
		return nil, err
	}
	if p.network, err = netfault.NewProxy(netfault.Link{}, exit); err != nil {
		return nil, errors.Join(err, p.backend.stop())
	}
	if p.agent, err = startAgent(entry, p.network.Addr(), protocol); err != nil {
		return nil, errors.Join(err, p.network.Close(), p.backend.stop())
	}
	return p, nil
}

// stop ends the agent first, so that it can deliver what it has.
func (p *pair) stop() error {
	return errors.Join(p.agent.stop(), p.backend.stop(), p.network.Close())
}

func (p *pair) counts() (items [len(signals)]int64) {
	for s := range items {
		items[s] = p.count.items[s].Load()
	}
	return items
}

// bytes returns what went over the network so far, both ways.
func (p *pair) bytes() int64 { return p.network.Bytes(netfault.Both) }

// cost is what a signal took on a path.
type cost struct {
	sent, received int64
	bytes          int64
	cpu            time.Duration // of client, agent and backend together
	hasCPU         bool
}

// arrival is how long what was acknowledged may take to arrive.
const arrival = 30 * time.Second

// measure sends the recordings over a pair that speaks a protocol.
func measure(ctx context.Context, protocol string, recordings *[len(signals)]*recording) (costs [len(signals)]cost, err error) {
	entry, err := freeAddress()
	if err != nil {
		return costs, err
	}
	exit, err := freeAddress()
	if err != nil {
		return costs, err
	}
	p, err := startPair(protocol, entry, exit)
	if err != nil {
		return costs, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	for s, r := range recordings {
		runtime.GC()
		bytes := p.bytes()
		cpu, _ := cpuTime()
		if err := r.send(ctx, entry, workers[s]); err != nil {
			return costs, fmt.Errorf("%s over %s: %w", signals[s].name, protocol, err)
		}
		for end := time.Now().Add(arrival); p.counts()[s] < int64(r.items) && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		after, ok := cpuTime()
		costs[s] = cost{int64(r.items), p.counts()[s], p.bytes() - bytes, after - cpu, ok}
	}
	return costs, nil
}

// report prints both paths side by side, and fails if something is missing.
func report(out io.Writer, stef, otlp [len(signals)]cost) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "signal\tsent\treceived\t\tSTEF bytes\tOTLP+zstd bytes\tratio\tSTEF CPU\tOTLP CPU\tratio\t")
	var wrong []string
	for s, name := range signals {
		a, b := stef[s], otlp[s]
		verdict := "equal"
		if a.sent != a.received || b.sent != b.received {
			verdict = "NOT EQUAL"
			wrong = append(wrong, fmt.Sprintf("%s: sent %d, received %d over STEF and %d over OTLP", name.name, a.sent, a.received, b.received))
		}
		cpu := "n/a\tn/a\tn/a"
		if a.hasCPU && b.cpu > 0 {
			cpu = fmt.Sprintf("%v\t%v\t%.2f", a.cpu.Round(time.Millisecond), b.cpu.Round(time.Millisecond), float64(a.cpu)/float64(b.cpu))
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%d\t%d\t%.2f\t%s\t\n", name.name, a.sent, a.received, verdict,
			a.bytes, b.bytes, float64(a.bytes)/float64(b.bytes), cpu)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(out, `
Items are metric points, spans and log records. Bytes are all that went between
agent and backend, both ways, acknowledgements and HTTP/2 included. CPU is that
of client, agent and backend, which share this process.

What to look at next:
  make demo-serve       leave the pair running for an OTLP client of your own
  make collector        build a Collector with STEF, configured as in cmd/otelcol-stef/examples
  exporter/stefexporter/README.md and receiver/stefreceiver/README.md: every option
  make report           the comparison with OTLP, Arrow and Parquet, on size and speed
`)
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
