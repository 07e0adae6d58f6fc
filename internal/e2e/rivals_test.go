// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/fixtures/recordings"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
)

// rival is a protocol between two Collectors, with the defaults of its
// components.
type rival struct {
	name     string
	binary   string // environment variable that names the program
	exporter string // configuration of the agent (%s is the endpoint), or nowhere
	receiver string // configuration of the backend (%s is the endpoint)
}

// nowhere configures an agent that receives and batches items and then drops them. The cost of
// this agent is a part of the cost of every other agent.
const nowhere = "  nop:\n"

const arrowBinary = "STEF_OTELCOL_ARROW"

// batchInQueue is an environment variable. If it is set, agents create the batches in the queue
// of the exporter, with the size and the timeout that the batch processor has by default.
const batchInQueue = "STEF_BATCH_IN_QUEUE"

const queueBatch = "    sending_queue: {batch: {flush_timeout: 200ms, min_size: 8192}}\n"

// rivals lists the pairs of Collectors. The first three pairs run the program that binaryEnv names, the
// last three pairs run the program that arrowBinary names. The agent of the first pair of each three
// has no exporter and drops the items.
var rivals = []rival{
	{"no exporter", binaryEnv, nowhere, "  otlp/wire:\n    protocols: {grpc: {endpoint: %s}}\n"},
	{"OTLP/gRPC zstd", binaryEnv,
		"  otlp_grpc:\n    endpoint: %s\n    compression: zstd\n    tls: {insecure: true}\n",
		"  otlp/wire:\n    protocols: {grpc: {endpoint: %s}}\n"},
	{"STEF", binaryEnv,
		"  stef:\n    endpoint: %s\n    tls: {insecure: true}\n",
		"  stef:\n    endpoint: %s\n"},
	{"no exporter, v0.145.0", arrowBinary, nowhere, "  otlp/wire:\n    protocols: {grpc: {endpoint: %s}}\n"},
	{"OTLP/gRPC zstd, v0.145.0", arrowBinary,
		"  otlp_grpc:\n    endpoint: %s\n    compression: zstd\n    tls: {insecure: true}\n",
		"  otlp/wire:\n    protocols: {grpc: {endpoint: %s}}\n"},
	{"Otel Arrow, v0.145.0", arrowBinary,
		"  otelarrow:\n    endpoint: %s\n    tls: {insecure: true}\n",
		"  otelarrow:\n    protocols: {grpc: {endpoint: %s}}\n"},
}

const rivalAgent = `
receivers:
  otlp/entry:
    protocols: {grpc: {endpoint: %s}}
%sexporters:
%s`

const rivalBackend = `
receivers:
%sexporters:
  nop:
`

// accepted has the metric of each signal with which the backend's receiver counts accepted items.
var accepted = map[otlpfile.Signal]string{
	otlpfile.Metrics: "otelcol_receiver_accepted_metric_points",
	otlpfile.Traces:  "otelcol_receiver_accepted_spans",
	otlpfile.Logs:    "otelcol_receiver_accepted_log_records",
}

// cost is what a pair of Collectors needed for the second half of the recordings.
type cost struct {
	items          int
	bytes          int64
	agent, backend time.Duration // CPU time
	memory         [2]int        // peak MiB of agent and backend since their start
}

// TestRivals sends the recordings of the repository through pairs of Collectors that are connected
// by OTLP, Otel Arrow and STEF, and prints a table. The first half of each recording warms the pair
// up, the second half is measured. Agent and backend use the defaults of their components. The
// agent creates batches in the batch processor, as is common, or in the queue (see batchInQueue).
// An agent that drops the items is measured, too: the cost of the protocol alone is the cost of a
// pair minus the cost of this agent.
func TestRivals(t *testing.T) {
	if os.Getenv(arrowBinary) == "" {
		t.Skipf("SKIPPED: %s names no Collector; make rivals builds one and runs this", arrowBinary)
	}
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv("STEF_ROUNDS")); err == nil {
		rounds = n
	}
	inQueue := os.Getenv(batchInQueue) != ""
	rivals, batching := rivals, "the batch processor"
	if inQueue { // Otel Arrow makes its own batches in any case
		again := rivals[1]
		again.name += ", again" // measured twice: the difference of its ratio from 1 is noise
		rivals, batching = append(slices.Clone(rivals[:3]), again), "the queue of the exporter"
	}
	var spreads []spreadOf
	// Print each line immediately: measuring the whole table takes minutes.
	signals := []otlpfile.Signal{otlpfile.Metrics, otlpfile.Traces, otlpfile.Logs}
	fmt.Printf("note: %d measurements of 3 to 5 s each; the rows of a signal are printed when its last round is over\n", len(signals)*len(rivals)*rounds)
	fmt.Printf("data: %d recordings in internal/fixtures/recordings; medians of %d rounds; batches by %s\n\n", len(recordings.All()), rounds, batching)
	fmt.Print("| signal | protocol | items | bytes an item | agent, us CPU an item | backend, us CPU an item | both, OTLP = 1 | protocol alone, OTLP = 1 | CPU s of a round | spread | MiB agent, backend |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, signal := range signals {
		costs := make([][]cost, len(rivals))
		for range rounds {
			for i, r := range rivals {
				costs[i] = append(costs[i], measure(t, r, signal, inQueue))
			}
		}
		perItem := func(costs []cost, f func(cost) float64) float64 {
			var all []float64
			for _, c := range costs {
				all = append(all, f(c)/float64(c.items))
			}
			sort.Float64s(all)
			return all[len(all)/2]
		}
		micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
		ends := func(c cost) float64 { return micros(c.agent + c.backend) }
		otlp := perItem(costs[1], ends)
		otlpAlone := otlp - perItem(costs[0], ends)
		floor := 0.0
		for i, r := range rivals {
			both := perItem(costs[i], ends)
			seconds, spread := ofRounds(costs[i])
			spreads = append(spreads, spreadOf{fmt.Sprintf("%s, %s", signal, r.name), spread})
			alone := "0"
			if r.exporter == nowhere {
				floor = both
			} else {
				alone = fmt.Sprintf("%.2f", (both-floor)/otlpAlone)
			}
			c := costs[i][0]
			fmt.Printf("| %s | %s | %d | %.1f | %.2f | %.2f | %.2f | %s | %.2f | %.0f %% | %d, %d |\n", signal, r.name, c.items,
				perItem(costs[i], func(c cost) float64 { return float64(c.bytes) }), perItem(costs[i], func(c cost) float64 { return micros(c.agent) }),
				perItem(costs[i], func(c cost) float64 { return micros(c.backend) }), both/otlp, alone, seconds, 100*spread, c.memory[0], c.memory[1])
		}
	}
	fmt.Print("\n", notes(rounds, spreads))
}

type spreadOf struct {
	row    string
	spread float64
}

// notes says how far the table can be trusted. make rivals prints the lines that begin with "note:".
func notes(rounds int, spreads []spreadOf) string {
	const unsteady = 0.1
	text := "note: differences below 0.1 in \"both\" and 0.2 in \"protocol alone\" are noise even on an idle machine, and on a busy one larger differences, too\n"
	if rounds < 3 {
		return text + "note: too few rounds to judge the spread; repeat with STEF_ROUNDS=10\n"
	}
	var rows []string
	for _, s := range spreads {
		if s.spread > unsteady {
			rows = append(rows, fmt.Sprintf("%s (%.0f %%)", s.row, 100*s.spread))
		}
	}
	if len(rows) == 0 {
		return text
	}
	again := "repeat with STEF_ROUNDS=10"
	if rounds >= 10 {
		again = "repeat while nothing else runs"
	}
	return text + fmt.Sprintf("note: the spread of %d of %d rows is above %.0f %%; %s: %s\n", len(rows), len(spreads), 100*unsteady, again, strings.Join(rows, "; "))
}

// TestNotes checks which rows the notes list as uncertain.
func TestNotes(t *testing.T) {
	text := notes(3, []spreadOf{{"logs, STEF", 0.1}})
	require.Equal(t, 1, strings.Count(text, "\n"))
	require.Contains(t, text, "differences below 0.1")
	spreads := []spreadOf{{"metrics, STEF", 0.05}, {"logs, no exporter, v0.145.0", 0.111}, {"logs, STEF", 0.19}}
	require.Contains(t, notes(3, spreads), "\nnote: the spread of 2 of 3 rows is above 10 %; repeat with STEF_ROUNDS=10: logs, no exporter, v0.145.0 (11 %); logs, STEF (19 %)\n")
	require.Contains(t, notes(1, spreads), "\nnote: too few rounds to judge the spread; repeat with STEF_ROUNDS=10\n")
	require.Contains(t, notes(10, spreads), "; repeat while nothing else runs: ")
}

// ofRounds returns the median CPU time of both ends in seconds, and the spread: half the
// difference between the largest and the smallest time, divided by the median.
func ofRounds(rounds []cost) (seconds, spread float64) {
	var all []float64
	for _, c := range rounds {
		all = append(all, (c.agent + c.backend).Seconds())
	}
	sort.Float64s(all)
	seconds = all[len(all)/2]
	return seconds, (all[len(all)-1] - all[0]) / 2 / seconds
}

func TestOfRounds(t *testing.T) {
	seconds, spread := ofRounds([]cost{{agent: 2 * time.Second, backend: 2 * time.Second}, {agent: time.Second, backend: time.Second}, {backend: 3 * time.Second}})
	require.InDelta(t, 3, seconds, 1e-9)
	require.InDelta(t, 1.0/3, spread, 1e-9)
}

func measure(t *testing.T, r rival, signal otlpfile.Signal, inQueue bool) (result cost) {
	t.Run(fmt.Sprintf("%s/%s", signal, r.name), func(t *testing.T) {
		entry, exit := address(t), address(t)
		wire := newCountingProxy(t, exit)
		receiver, _, _ := strings.Cut(strings.TrimSpace(r.receiver), ":")
		exporter, _, _ := strings.Cut(strings.TrimSpace(r.exporter), ":")
		backend := startProgram(t, os.Getenv(r.binary), "normal", "backend", fmt.Sprintf(rivalBackend, fmt.Sprintf(r.receiver, exit)), pipelines(receiver, "nop"))
		flow, processors, export := pipelines("otlp/entry", exporter), "", strings.ReplaceAll(r.exporter, "%s", wire.address)
		switch {
		case !inQueue:
			processors = "processors:\n  batch:\n"
			flow = strings.ReplaceAll(flow, "      exporters:", "      processors: [batch]\n      exporters:")
		case r.exporter != nowhere:
			export += queueBatch
		}
		agent := startProgram(t, os.Getenv(r.binary), "normal", "agent", fmt.Sprintf(rivalAgent, entry, processors, export), flow)

		last := backend
		if r.exporter == nowhere {
			last = agent
		}

		conn, err := grpc.NewClient(entry, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer conn.Close()
		sender := replay.NewOTLPSender(conn, "")
		first, second := halves(t, signal)
		sent := 0
		send := func(sources []replay.Source) int {
			counts, err := (&replay.Player{Send: sender.Send}).Play(t.Context(), sources...)
			require.NoError(t, err)
			sent += int(counts.Items)
			// Reading the metrics costs CPU, too. After twice the timeout of the batch processor,
			// all items should have arrived, so that one reading of the metrics is enough.
			time.Sleep(400 * time.Millisecond)
			require.Eventually(t, func() bool {
				n, _ := last.sum(t, accepted[signal])
				return int(n) == sent
			}, 30*time.Second, 20*time.Millisecond, "%s does not receive all %d %s", last.name, sent, signal)
			return int(counts.Items)
		}
		send(first)
		before := cost{bytes: wire.bytes.Load(), agent: agent.cpu(t), backend: backend.cpu(t)}
		result.items = send(second)
		result.bytes = wire.bytes.Load() - before.bytes
		result.agent, result.backend = agent.cpu(t)-before.agent, backend.cpu(t)-before.backend
		result.memory = [2]int{agent.memory(), backend.memory()}
		require.Zero(t, sender.Rejected())
	})
	require.NotZero(t, result.items)
	return result
}

// halves returns the first and the second half of each recording of a signal.
func halves(t *testing.T, signal otlpfile.Signal) (first, second []replay.Source) {
	t.Helper()
	for _, r := range recordings.All() {
		if r.Signal != signal.String() {
			continue
		}
		in, err := otlpfile.Open(bytes.NewReader(r.File()), otlpfile.Parts, signal)
		require.NoError(t, err)
		defer in.Close()
		var batches []otlpfile.Batch
		for {
			b, err := in.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			batches = append(batches, b)
		}
		source := func(batches []otlpfile.Batch) replay.Source {
			return func() iter.Seq2[otlpfile.Batch, error] {
				return func(yield func(otlpfile.Batch, error) bool) {
					for _, b := range batches {
						if !yield(b, nil) {
							return
						}
					}
				}
			}
		}
		first = append(first, source(batches[:len(batches)/2]))
		second = append(second, source(batches[len(batches)/2:]))
	}
	require.NotEmpty(t, first)
	return first, second
}

// cpu returns the CPU time of a process so far: the sum over its threads, which
// the kernel counts in nanoseconds.
func (c *collector) cpu(t *testing.T) (total time.Duration) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", c.command.Process.Pid))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		require.NoError(t, err)
		total += time.Duration(ns)
	}
	return total
}

// countingProxy forwards connections and counts the bytes of both directions.
type countingProxy struct {
	address string
	bytes   atomic.Int64
}

func newCountingProxy(t *testing.T, target string) *countingProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &countingProxy{address: l.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(ctx, "tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			context.AfterFunc(ctx, func() {
				_ = client.Close()
				_ = server.Close()
			})
			copy := func(to, from net.Conn) {
				_, _ = io.Copy(io.MultiWriter(to, (*counter)(&p.bytes)), from)
				_ = to.Close()
			}
			running.Go(func() { copy(server, client) })
			running.Go(func() { copy(client, server) })
		}
	})
	return p
}

type counter atomic.Int64

func (c *counter) Write(p []byte) (int, error) {
	(*atomic.Int64)(c).Add(int64(len(p)))
	return len(p), nil
}
