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

	"github.com/otelstef/stef/internal/cputime"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/netfault"
)

// pair is an agent and a backend with a byte-counting network between them.
type pair struct {
	agent, backend *collector
	network        *netfault.Proxy
	count          *counter
	entry          string // where the agent receives OTLP
}

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

// stop stops the agent first, so that it can deliver its remaining data.
func (p *pair) stop() error {
	return errors.Join(p.agent.stop(), p.backend.stop(), p.network.Close())
}

func (p *pair) counts() (items [len(signals)]int64) {
	for s := range items {
		items[s] = p.count.items[s].Load()
	}
	return items
}

func (p *pair) bytes() int64 { return p.network.Bytes(netfault.Both) }

type cost struct {
	sent, received int64
	bytes          int64
	cpu            time.Duration // CPU time of client, agent and backend together; 0 if it is unavailable
}

type costs struct{ start, steady cost }

func (c costs) all() (sent, received int64) {
	return c.start.sent + c.steady.sent, c.start.received + c.steady.received
}

// arrival is the maximum time until an acknowledged item arrives.
const arrival = 30 * time.Second

// measure sends the recordings through an agent and a backend, which use a protocol between them.
// It measures the first half of each recording, on new streams, and then the second half, sent
// rounds times on the same streams.
func measure(ctx context.Context, protocol string, recordings *[len(signals)]*recording, rounds int) (all [len(signals)]costs, err error) {
	entry, err := freeport.Find()
	if err != nil {
		return all, err
	}
	exit, err := freeport.Find()
	if err != nil {
		return all, err
	}
	p, err := startPair(protocol, entry, exit)
	if err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	for s, r := range recordings {
		start, steady := r.halves()
		if all[s].start, err = p.measure(ctx, kind(s), start, 1); err == nil {
			all[s].steady, err = p.measure(ctx, kind(s), steady, rounds)
		}
		if err != nil {
			return all, fmt.Errorf("%s over %s: %w", signals[s].name, protocol, err)
		}
	}
	return all, nil
}

func (p *pair) measure(ctx context.Context, s kind, r *recording, rounds int) (cost, error) {
	runtime.GC()
	sent := int64(r.items * rounds)
	bytes, before := p.bytes(), p.counts()[s]
	cpu := cputime.Used()
	if err := r.send(ctx, p.entry, rounds); err != nil {
		return cost{}, err
	}
	for end := time.Now().Add(arrival); p.counts()[s]-before < sent && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	return cost{sent, p.counts()[s] - before, p.bytes() - bytes, cputime.Used() - cpu}, nil
}

// report prints the costs of STEF and of OTLP side by side. It returns an error if items are
// missing.
func report(out io.Writer, stef, otlp [len(signals)]costs) error {
	var wrong []string
	for _, part := range []struct {
		title string
		of    func(costs) cost
	}{
		{"The first half of each recording, sent on new streams:", func(c costs) cost { return c.start }},
		{"The second half, sent on the same streams, so that dictionaries and compressor are filled:", func(c costs) cost { return c.steady }},
	} {
		fmt.Fprintln(out, part.title)
		t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "signal\tsent\treceived\t\tSTEF bytes\tOTLP+zstd bytes\tratio\tSTEF CPU\tOTLP CPU\tratio\t")
		for s, name := range signals {
			row(t, name.name, part.of(stef[s]), part.of(otlp[s]))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	for s, name := range signals {
		sent, received := stef[s].all()
		sentOTLP, receivedOTLP := otlp[s].all()
		if sent != received || sentOTLP != receivedOTLP {
			wrong = append(wrong, fmt.Sprintf("%s: sent %d, received %d over STEF and %d over OTLP", name.name, sent, received, receivedOTLP))
		}
	}
	fmt.Fprint(out, `Items are data points, spans and log records. Bytes are all bytes between agent and
backend in both directions, with acknowledgements and HTTP/2. CPU is the CPU time of
client, agent and backend together, which share this process. It is tenths of a second
at most, so repeat the demo before you trust a CPU ratio. In the first half this ratio
may be above 1, because the beginning of a stream costs more: benchmarks/drawbacks.md.
README.md has other figures under Numbers: they measure only exporter and receiver, with
larger batches, on recordings of programs in four languages and of a Collector. Here
each request of the client is one batch, and the agent does not batch: OTLP compresses
each request separately, and a stream of STEF keeps its state between requests.
benchmarks/collectors.md has figures of more recordings, and explains the CPU ratios.

What to look at next:
  make demo-files       short recordings as files, there and back
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

func row(out io.Writer, name string, stef, otlp cost) {
	verdict := "equal"
	if stef.sent != stef.received || otlp.sent != otlp.received {
		verdict = "NOT EQUAL"
	}
	cpu := "n/a\tn/a\tn/a"
	if otlp.cpu > 0 {
		cpu = fmt.Sprintf("%v\t%v\t%.2f", stef.cpu.Round(time.Millisecond), otlp.cpu.Round(time.Millisecond), float64(stef.cpu)/float64(otlp.cpu))
	}
	fmt.Fprintf(out, "%s\t%d\t%d\t%s\t%d\t%d\t%.2f\t%s\t\n", name, stef.sent, stef.received, verdict,
		stef.bytes, otlp.bytes, float64(stef.bytes)/float64(otlp.bytes), cpu)
}
