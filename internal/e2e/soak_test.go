// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/netfault"
)

const (
	soakPerSecond = 40 // requests per second, each of batchSize records
	soakClients   = 4
	// consumers is the default of the exporter: the maximum number of batches in flight.
	consumers = 16
	// queueSpace is the size of the file system of the queue. It suffices for all faults except
	// the full disk.
	queueSpace = 64 << 20
	// filler is the name of the file that fills the file system of the queue.
	filler = "filler"
	// recovery is the maximum time from the end of a fault until a record arrives that was sent
	// after the fault.
	recovery = 60 * time.Second
)

const soakBackend = `
extensions:
  pprof: {endpoint: %s}
receivers:
  stef:
    endpoint: %s
    tls: {cert_file: %s, key_file: %s, reload_interval: 500ms}
    keepalive: {server_parameters: {max_connection_age: 20s, max_connection_age_grace: 10s}}
exporters:
  otlp:
    endpoint: %s
    timeout: 5s
    tls: {insecure: true}
    sending_queue: {enabled: false}
    retry_on_failure: {enabled: false}
`

const soakAgent = `
extensions:
  pprof: {endpoint: %s}
  file_storage: {directory: %s}
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: %s
exporters:
  stef:
    endpoint: %s
    tls: {ca_file: %s}
    timeout: 5s
    sending_queue: {storage: file_storage, queue_size: 10000000} # the disk is full first
    retry_on_failure:
      initial_interval: 200ms
      max_interval: 2s
      max_elapsed_time: 0s
`

// soakPipelines ends with the key service::extensions, which is outside the pipelines.
const soakPipelines = `    logs:
      receivers: [%s]
      exporters: [%s]
  extensions: [%s]
`

// soakPair is an agent and a backend that use TLS. The agent has its queue on disk.
type soakPair struct {
	t              *testing.T
	sink           *sink
	network        *netfault.Proxy
	load           *load
	sampler        *sampler
	agent, backend *collector
	entry, exit    string
	dir, storage   string
	limited        error // why the queue has no small file system; nil if it has one
	authority      *authority
	serial         int64
	random         *rand.Rand

	failed  float64 // failed attempts to send, of agent processes that have ended
	kills   int     // how often the agent was killed
	seen    []seenFault
	started time.Time
}

type seenFault struct {
	at, lasted, recovered time.Duration
	name                  string
}

func newSoakPair(t *testing.T) *soakPair {
	t.Helper()
	binary(t)
	dir := t.TempDir()
	r := &soakPair{t: t, sink: newSink(t), entry: address(t), exit: address(t), dir: dir, storage: filepath.Join(dir, "queue"),
		authority: newAuthority(t, dir), random: rand.New(rand.NewPCG(1, 0)), started: time.Now()}
	require.NoError(t, os.Mkdir(r.storage, 0o700))
	r.limited = mountSmall(t, r.storage)
	if r.limited != nil {
		t.Logf("SKIPPED in part: the disk of the queue does not get full, because no small file system could be mounted: %v", r.limited)
	}
	var err error
	r.network, err = netfault.NewProxy(netfault.Link{}, r.exit)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.network.Close() })
	r.sampler = &sampler{began: r.started, storage: r.storage, processes: map[string]*sampled{}, backlog: r.backlog}
	r.rotate()
	r.startBackend()
	r.startAgent()
	r.load = startLoad(t, r.entry, soakPerSecond, soakClients)
	return r
}

// mountSmall mounts a file system of queueSpace bytes on a folder. Only root can do this.
func mountSmall(t *testing.T, dir string) error {
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", queueSpace), "tmpfs", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		require.NoError(t, err, string(out))
	})
	return nil
}

func (r *soakPair) backlog() int {
	if r.load == nil {
		return 0
	}
	once, _, _ := r.sink.numbered()
	return max(0, r.load.acknowledged()-once)
}

func (r *soakPair) startBackend() {
	r.t.Helper()
	debug := address(r.t)
	r.backend = start(r.t, "backend",
		fmt.Sprintf(soakBackend, debug, r.exit, r.authority.cert, r.authority.key, r.sink.address),
		fmt.Sprintf(soakPipelines, "stef", "otlp", "pprof"))
	r.sampler.observe("backend", r.backend, debug)
}

func (r *soakPair) startAgent() {
	r.t.Helper()
	debug := address(r.t)
	r.agent = start(r.t, "agent",
		fmt.Sprintf(soakAgent, debug, r.storage, r.entry, r.network.Addr(), r.authority.ca),
		fmt.Sprintf(soakPipelines, "otlp", "stef", "file_storage, pprof"))
	r.sampler.observe("agent", r.agent, debug)
}

func (r *soakPair) killAgent() {
	r.failed += r.attempts()
	r.kills++
	r.sampler.observe("agent", nil, "")
	r.agent.kill()
}

func (r *soakPair) killBackend() {
	r.sampler.observe("backend", nil, "")
	r.backend.kill()
}

func (r *soakPair) attempts() float64 {
	n, _ := r.agent.sum(r.t, "otelcol_exporter_stef_failed_attempts")
	return n
}

// rotate replaces the certificate of the backend.
func (r *soakPair) rotate() {
	r.t.Helper()
	r.serial++
	r.authority.issue(r.t, r.serial)
}

// serves reports whether the backend uses the newest certificate.
func (r *soakPair) serves() bool {
	conn, err := tls.Dial("tcp", r.exit, &tls.Config{RootCAs: r.authority.pool, NextProtos: []string{"h2"}})
	if err != nil {
		return false
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64() == r.serial
}

// fill leaves no space on the file system of the queue.
func (r *soakPair) fill() {
	r.t.Helper()
	f, err := os.Create(filepath.Join(r.storage, filler))
	require.NoError(r.t, err)
	defer f.Close()
	for size := 1 << 20; size >= 1; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			require.ErrorIs(r.t, err, syscall.ENOSPC)
			size /= 16
		}
	}
}

// fault is a temporary failure. The method cause calls begin, waits for the time in the field
// between, and calls end.
type fault struct {
	name    string
	kills   bool // whether the fault kills a process; only TestChaos has such faults
	between time.Duration
	begin   func(r *soakPair)
	end     func(r *soakPair)
}

func nothing(*soakPair) {}

func refusal() error { return status.Error(codes.Unavailable, "the sink is under pressure") }

// faults are all faults. A run causes all possible faults in a random order, and then again in a
// new random order.
var faults = []fault{
	{"kill -9 of the agent", true, 0, (*soakPair).killAgent, (*soakPair).startAgent},
	{"kill -9 of the backend", true, 2 * time.Second, (*soakPair).killBackend, (*soakPair).startBackend},
	{"kill -9 of both", true, time.Second,
		func(r *soakPair) { r.killBackend(); r.killAgent() },
		func(r *soakPair) { r.startAgent(); r.startBackend() }},
	{"cut", false, 0, func(r *soakPair) { r.network.Cut() }, nothing},
	{"refuse connections", false, 3 * time.Second,
		func(r *soakPair) { r.network.Refuse(true); r.network.Cut() },
		func(r *soakPair) { r.network.Refuse(false) }},
	{"stall, short", false, 2 * time.Second,
		func(r *soakPair) { r.network.Stall(netfault.Both) },
		func(r *soakPair) { r.network.Resume(netfault.Both) }},
	{"stall, longer than the timeout", false, 7 * time.Second,
		func(r *soakPair) { r.network.Stall(netfault.Both) },
		func(r *soakPair) { r.network.Resume(netfault.Both) }},
	{"stall of acknowledgements", false, 7 * time.Second,
		func(r *soakPair) { r.network.Stall(netfault.Down) },
		func(r *soakPair) { r.network.Resume(netfault.Down) }},
	{"slow, 8 KiB a second", false, 6 * time.Second,
		func(r *soakPair) { r.network.Rate(netfault.Up, 8<<10) },
		func(r *soakPair) { r.network.Rate(netfault.Up, 0) }},
	{"truncate, to the backend", false, time.Second,
		func(r *soakPair) { r.network.KillAfter(netfault.Up, 1+r.random.Int64N(8<<10)) }, nothing},
	{"truncate, to the agent", false, time.Second,
		func(r *soakPair) { r.network.KillAfter(netfault.Down, 1+r.random.Int64N(256)) }, nothing},
	{"half-close", false, time.Second, func(r *soakPair) { r.network.HalfClose(netfault.Up) }, nothing},
	{"duplicate bytes, to the backend", false, time.Second, func(r *soakPair) { r.network.Repeat(netfault.Up) }, nothing},
	{"duplicate bytes, to the agent", false, time.Second, func(r *soakPair) { r.network.Repeat(netfault.Down) }, nothing},
	{"the sink refuses", false, 3 * time.Second,
		func(r *soakPair) { r.sink.setRefuse(refusal) },
		func(r *soakPair) { r.sink.setRefuse(nil) }},
	{"another certificate", false, 0, (*soakPair).rotate,
		func(r *soakPair) {
			require.Eventually(r.t, r.serves, 20*time.Second, 100*time.Millisecond, "the backend does not use its new certificate")
			r.network.Cut()
		}},
	{"full disk of the queue", false, time.Second,
		func(r *soakPair) {
			r.network.Refuse(true)
			r.network.Cut()
			// Wait until each consumer has read a batch that it cannot send. Then no batch is
			// read while the disk is full. The queue of the Collector loses a batch if it cannot
			// record on the disk that the batch was read.
			time.Sleep(time.Second)
			r.fill()
		},
		func(r *soakPair) {
			// The disk is full, but the queue accepts requests until it has used the free pages of its files.
			_, _, before := r.load.results()
			require.Eventually(r.t, func() bool {
				_, _, refused := r.load.results()
				return refused >= before+3
			}, 90*time.Second, 50*time.Millisecond, "the agent accepts requests although the disk of its queue is full")
			require.NoError(r.t, os.Remove(filepath.Join(r.storage, filler)))
			r.network.Refuse(false)
		}},
}

func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("STEF_SOAK_TIME")
	if text == "" {
		return 20 * time.Second
	}
	length, err := time.ParseDuration(text)
	require.NoError(t, err)
	return length
}

// TestSoak runs a pair under load with all faults except kills, so that each process runs the
// whole time.
func TestSoak(t *testing.T) { endure(t, "soak", false) }

// TestChaos is like TestSoak, but also kills both processes with kill -9.
func TestChaos(t *testing.T) { endure(t, "chaos", true) }

// faultEvery is the time between the beginnings of two faults. A fault that lasts longer delays
// the next fault.
const faultEvery = 8 * time.Second

func endure(t *testing.T, name string, kills bool) {
	t.Parallel()
	length := soakTime(t)
	r := newSoakPair(t)
	done := make(chan struct{})
	var sampling sync.WaitGroup
	sampling.Go(func() { r.sampler.run(2*time.Second, done) })
	finish := sync.OnceFunc(func() { close(done); sampling.Wait() })
	defer finish()
	var deck []fault
	for time.Since(r.started) < length {
		if len(deck) == 0 {
			deck = r.shuffled(kills)
		}
		next := time.Now().Add(faultEvery)
		r.cause(deck[0])
		deck = deck[1:]
		r.alive()
		time.Sleep(min(time.Until(next), time.Until(r.started.Add(length))))
	}
	r.load.stop()
	_, accepted, _ := r.load.results()
	require.Eventually(t, func() bool {
		missing, _ := r.sink.missing(accepted)
		return missing == 0
	}, 2*time.Minute, 200*time.Millisecond, "records that the agent acknowledged do not arrive")
	r.alive()
	finish()
	r.report(name, length)
}

// shuffled returns the possible faults in a random order.
func (r *soakPair) shuffled(kills bool) (deck []fault) {
	for _, f := range faults {
		if f.kills && !kills || strings.HasPrefix(f.name, "full disk") && r.limited != nil {
			continue
		}
		deck = append(deck, f)
	}
	r.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

// alive fails if a process has ended on its own.
func (r *soakPair) alive() {
	r.t.Helper()
	for _, c := range []*collector{r.agent, r.backend} {
		select {
		case <-c.exited:
			require.FailNow(r.t, c.name+" ended", tail(c.output.String(), 60))
		default:
		}
	}
}

func (r *soakPair) cause(f fault) {
	r.t.Helper()
	seen := seenFault{name: f.name, at: time.Since(r.started)}
	f.begin(r)
	time.Sleep(f.between)
	f.end(r)
	seen.lasted = time.Since(r.started) - seen.at
	offered, _, _ := r.load.results()
	require.Eventually(r.t, func() bool {
		_, _, highest := r.sink.numbered()
		return highest > offered
	}, recovery, 20*time.Millisecond, "no new records arrive after %s", f.name)
	seen.recovered = time.Since(r.started) - seen.at - seen.lasted
	r.seen = append(r.seen, seen)
}

// report checks the figures of a run. It writes them to the folder in STEF_SOAK_OUT, if this is
// set.
func (r *soakPair) report(name string, length time.Duration) {
	t := r.t
	offered, accepted, refused := r.load.results()
	missing, _ := r.sink.missing(accepted)
	once, again, _ := r.sink.numbered()
	attempts := r.failed + r.attempts()
	// A batch is sent again if an attempt failed, or if the agent was killed before
	// it removed the batch from its queue.
	bound := batchSize * (int(attempts) + consumers*r.kills)
	list := r.sampler.samples()
	var cpu float64
	last := map[string]float64{}
	for _, s := range list {
		last[s.process+strconv.Itoa(s.life)] = s.cpu
	}
	for _, s := range last {
		cpu += s
	}
	var b strings.Builder
	fmt.Fprintf(&b, "time: %v\nfaults: %d\nkills of the agent: %d\n", time.Since(r.started).Round(time.Second), len(r.seen), r.kills)
	fmt.Fprintf(&b, "records offered: %d\nrecords acknowledged: %d\nrequests refused: %d\n", offered, len(accepted), refused)
	fmt.Fprintf(&b, "acknowledged records lost: %d\nrecords that nobody sent: %d\nrecords that arrived: %d\n", missing, r.sink.invented(offered), once)
	fmt.Fprintf(&b, "duplicates: %d\nfailed attempts: %d\nbound of duplicates: %d (%d a batch, %d batches in flight at a kill)\n", again, int(attempts), bound, batchSize, consumers)
	fmt.Fprintf(&b, "CPU seconds of both processes: %.0f\n", cpu)
	if r.limited != nil {
		fmt.Fprintf(&b, "NOT TESTED: full disk of the queue: %v\n", r.limited)
	}
	flat := growthChecks(list, length)
	for _, f := range flat {
		fmt.Fprintf(&b, "%s of the %s: early %.0f, late %.0f, peak %.0f, bound %.0f\n", f.figure.name, f.process, f.early, f.late, f.peak, f.figure.most)
	}
	t.Logf("%s\n%s", name, b.String())
	if out := os.Getenv("STEF_SOAK_OUT"); out != "" {
		r.write(filepath.Join(out, name), b.String(), list)
	}
	require.NotEmpty(t, accepted)
	require.Zero(t, missing)
	require.Zero(t, r.sink.invented(offered))
	require.LessOrEqual(t, again, bound, "duplicates that no failed attempt and no kill explains")
	for _, f := range flat {
		require.NotZero(t, f.samplesCount, f.process)
		require.True(t, f.flat(), "%s of the %s: early %.0f, late %.0f, peak %.0f", f.figure.name, f.process, f.early, f.late, f.peak)
	}
}

// write writes the files from which benchmarks/soak makes a page.
func (r *soakPair) write(dir, summary string, list []sample) {
	t := r.t
	require.NoError(t, errors.Join(
		os.MkdirAll(dir, 0o777),
		os.WriteFile(filepath.Join(dir, "summary.txt"), []byte(summary), 0o666),
		writeSamples(filepath.Join(dir, "samples.csv"), list),
	))
	rows := [][]string{{"seconds", "fault", "lasted", "recovered"}}
	for _, s := range r.seen {
		rows = append(rows, []string{fmt.Sprintf("%.1f", s.at.Seconds()), s.name,
			fmt.Sprintf("%.2f", s.lasted.Seconds()), fmt.Sprintf("%.2f", s.recovered.Seconds())})
	}
	require.NoError(t, writeCSV(filepath.Join(dir, "faults.csv"), rows))
}
