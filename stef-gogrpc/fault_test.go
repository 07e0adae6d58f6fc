// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/netfault"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// The fault test sends batches of numbered records through a session, over a network with
// repeated faults, to servers that fail, crash and are replaced. All servers deliver to one
// sink. Then the test checks every number:
//
//   - If Send returned nil for a batch, every record was delivered.
//   - In a batch with bad records, exactly the good records were delivered.
//   - Records that were reported as bad are not sent again.
//   - If Send returned an UnsentError without MaybeDelivered, no record of the batch was
//     delivered. Half of the batches with an UnsentError are sent again.
//   - A record was delivered twice only if an earlier Send of its batch returned MaybeDelivered, or
//     if the session counted in Redispatched that it sent the batch again.
//   - Without a fault, Send returns no UnsentError and no record is delivered twice.
//
// STEF_LONG=1 sends 10,000 batches for every seed, STEF_SEED sets the first seed. All events
// depend on the seed, and are logged when a test fails.

type faultPlan struct {
	seed    uint64
	batches int
	senders int
	every   int // batches between two faults; 0: no faults
	life    time.Duration
	streams int
}

func plan(t *testing.T, every int) faultPlan {
	p := faultPlan{seed: 1, batches: 800, senders: 8, every: every, life: 150 * time.Millisecond, streams: 3}
	if long() {
		p.batches, p.senders = 10000, 16
	}
	if text := os.Getenv("STEF_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		p.seed = seed
	}
	return p
}

func long() bool { return os.Getenv("STEF_LONG") != "" }

// backend is the server side: servers that start and stop at one address.
type backend struct {
	t       *testing.T
	sink    *sink
	seed    uint64
	listen  func() (net.Listener, error)
	failing atomic.Bool

	starts uint64
	server *stefgrpc.Server
	grpc   *grpc.Server
	served chan struct{}
}

func (b *backend) start() {
	server, err := stefgrpc.NewServer(stefgrpc.WithAckInterval(time.Millisecond))
	require.NoError(b.t, err)
	b.starts++
	handler := b.sink.handler(b.seed+b.starts, func() temper {
		if b.failing.Load() {
			return temper{late: time.Millisecond, fails: 0.01}
		}
		return temper{late: time.Millisecond}
	})
	require.NoError(b.t, server.Handle(otelstef.LogsRoot(), handler))
	l, err := b.listen()
	require.NoError(b.t, err)
	b.server, b.grpc = server, grpc.NewServer()
	server.Register(b.grpc)
	b.served = make(chan struct{})
	go func(g *grpc.Server, served chan struct{}) {
		defer close(served)
		if err := g.Serve(l); err != nil && err != grpc.ErrServerStopped {
			b.sink.problem(err)
		}
	}(b.grpc, b.served)
}

func (b *backend) crash() {
	b.grpc.Stop()
	<-b.served
}

// leave ends the server gracefully.
func (b *backend) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = b.server.Shutdown(ctx) // streams on a stalled network do not end in time
	b.crash()
	stats := b.server.Stats()
	require.Zero(b.t, stats.Streams)
	require.Zero(b.t, stats.BufferedBytes)
}

type outcome struct {
	batch numbers
	err   error
}

type faultRun struct {
	t       *testing.T
	plan    faultPlan
	sink    *sink
	faults  *netfault.Faults
	backend *backend
	session *stefgrpc.Session[numbers]

	offered  atomic.Int64
	mu       sync.Mutex
	outcomes []outcome
	story    []string
}

// run runs the whole test. listen creates the listener of a server. The option dial makes a
// connection reach this listener through the faulty network.
func (p faultPlan) run(t *testing.T, faults *netfault.Faults, listen func() (net.Listener, error), target string, dial grpc.DialOption) {
	r := &faultRun{t: t, plan: p, sink: newSink(), faults: faults}
	r.backend = &backend{t: t, sink: r.sink, seed: p.seed, listen: listen}
	r.backend.start()

	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 50 * time.Millisecond},
			MinConnectTimeout: p.timeout(500 * time.Millisecond),
		}),
	}
	if dial != nil {
		options = append(options, dial)
	}
	conn, err := grpc.NewClient(target, options...)
	require.NoError(t, err)
	r.session = r.newSession(conn)

	done := make(chan struct{})
	var misfortune sync.WaitGroup
	if p.every > 0 {
		misfortune.Go(func() { r.misfortune(done) })
	}
	var senders sync.WaitGroup
	for i := range p.senders {
		senders.Go(func() { r.send(uint64(i)) })
	}
	senders.Wait()
	close(done)
	misfortune.Wait()

	r.faults.Clear()
	begin := time.Now()
	require.NoError(t, r.session.Shutdown(context.Background()))
	require.Less(t, time.Since(begin), time.Minute)
	state := r.session.Stats()
	require.Zero(t, state.Live+state.Connecting+state.Draining+state.UnackedBatches)
	require.Zero(t, state.UnackedBytes)
	require.NoError(t, conn.Close())
	r.backend.leave()
	r.account()
}

// timeout returns a timeout of the session or of a sender. Without faults it is long, so that no
// batch times out on a busy machine.
func (p faultPlan) timeout(withFaults time.Duration) time.Duration {
	if p.every == 0 {
		return 5 * time.Minute
	}
	return withFaults
}

func (r *faultRun) newSession(conn *grpc.ClientConn) *stefgrpc.Session[numbers] {
	client, err := stefgrpc.NewClient(conn, stefgrpc.WithHandshakeTimeout(r.plan.timeout(500*time.Millisecond)), stefgrpc.WithMaxMessageBytes(500))
	require.NoError(r.t, err)
	config := stefgrpc.SessionConfig{}
	config.Streams = r.plan.streams
	config.MaxLifetime = r.plan.life
	config.LifetimeJitter = 0.5
	config.FlushInterval = time.Millisecond
	config.AckTimeout = r.plan.timeout(time.Second)
	config.DrainTimeout = r.plan.timeout(time.Second)
	config.Backoff = stefgrpc.Backoff{Initial: 2 * time.Millisecond, Max: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2}
	random, mu := rand.New(rand.NewPCG(r.plan.seed, 1)), new(sync.Mutex)
	config.Rand = func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return random.Float64()
	}
	var writers sync.Map // the writer of each stream
	open := func(ctx context.Context) (*stefgrpc.Stream, error) {
		w := &numberWriter{problem: r.sink.problem}
		s, err := client.Open(ctx, otelstef.LogsRoot(), stefgrpc.WithOnResponse(w.response))
		writers.Store(s, w)
		return s, err
	}
	write := func(s *stefgrpc.Stream) (stefgrpc.BatchWriter[numbers], error) {
		w, _ := writers.LoadAndDelete(s)
		x := w.(*numberWriter)
		var err error
		// The frames are so small that batches are answered in parts.
		x.w, err = otelstef.NewLogsWriter(s, append(s.WriterOptions(), stef.WithFrameBytes(100))...)
		return x, err
	}
	session, err := stefgrpc.NewSession(open, write, config)
	require.NoError(r.t, err)
	return session
}

// send sends the batches of one sender, one after another. No two batches have a number in common.
// If Send returns an UnsentError, send sends the batch again with a probability of one half.
func (r *faultRun) send(sender uint64) {
	random := rand.New(rand.NewPCG(r.plan.seed, 1000+sender))
	next := sender << 40
	for range r.plan.batches / r.plan.senders {
		b := numbers{first: next + 1, last: next + 1 + uint64(random.IntN(50)), broken: random.IntN(200) == 0}
		next = b.last
		r.offered.Add(1)
		for {
			again := random.IntN(2) == 0
			patience := r.plan.timeout(5*time.Second + time.Duration(random.IntN(2000))*time.Millisecond)
			if r.plan.every > 0 && random.IntN(20) == 0 {
				patience = time.Duration(random.IntN(30)) * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			b.told = new(sync.Map)
			err := r.session.Send(ctx, b)
			cancel()
			r.mu.Lock()
			r.outcomes = append(r.outcomes, outcome{b, err})
			r.mu.Unlock()
			var unsent *stefgrpc.UnsentError
			if !errors.As(err, &unsent) || !again || len(unsent.Rejected) > 0 {
				break
			}
			// Send only the unanswered records again.
			b.first += unsent.Acknowledged
			if b.first > b.last {
				break
			}
		}
	}
}

// misfortune causes faults. Before each fault it waits for plan.every batches, but at most 200 ms.
func (r *faultRun) misfortune(done chan struct{}) {
	random := rand.New(rand.NewPCG(r.plan.seed, 2))
	for n := int64(1); ; n++ {
		for waited := 0; r.offered.Load() < n*int64(r.plan.every) && waited < 100; waited++ {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
		r.goWrong(random)
	}
}

func (r *faultRun) goWrong(random *rand.Rand) {
	switch random.IntN(10) {
	case 0:
		r.tell("the server crashes and comes back")
		r.backend.crash()
		r.backend.start()
	case 1:
		r.tell("the server ends gracefully and comes back")
		r.backend.leave()
		r.backend.start()
	case 2:
		r.tell("handlers fail")
		r.backend.failing.Store(true)
		time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
		r.backend.failing.Store(false)
	default:
		longest := 50 * time.Millisecond
		if random.IntN(20) == 0 {
			longest = 2 * time.Second // beyond AckTimeout
		}
		step := netfault.Random(random, longest, 20000)
		r.tell(step.String())
		require.NoError(r.t, r.faults.Apply(context.Background(), step))
	}
}

func (r *faultRun) tell(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.story = append(r.story, text)
}

// account checks the rules at the top of this file.
func (r *faultRun) account() {
	t := r.t
	r.sink.mu.Lock() // handlers of crashed servers may still run for a moment
	defer r.sink.mu.Unlock()
	require.Empty(t, r.sink.problems)
	fates := map[uint64]fate{}
	counts := map[string]int{}
	for _, o := range r.outcomes {
		counts[r.settle(fates, o)]++
	}
	records, twice := 0, map[uint64]bool{}
	for n, f := range fates {
		records++
		times := r.sink.delivered[n]
		switch {
		case f.acked && f.bad:
			t.Errorf("%d is both accepted and bad", n)
		case f.bad != bad(n) && f.answered():
			t.Errorf("%d was reported bad: %v, is bad: %v", n, f.bad, bad(n))
		case f.acked && times == 0:
			t.Errorf("%d was acknowledged and never delivered", n)
		case !f.acked && times > 0 && f.maybe == 0:
			t.Errorf("%d was delivered %d times, but its sender was told that it was not delivered", n, times)
		case times > 1+f.maybe:
			twice[f.batch] = true
		}
	}
	// A batch can be delivered twice without MaybeDelivered only if the server ended the stream
	// gracefully and the session sent the batch on another stream. Redispatched counts the batches
	// that moved to another stream.
	if moved := r.session.Stats().Redispatched; uint64(len(twice)) > moved {
		t.Errorf("records of %d batches were delivered more often than their senders were told, %d were sent again", len(twice), moved)
	}
	for n, times := range r.sink.delivered {
		if _, ok := fates[n]; !ok {
			t.Errorf("%d was delivered %d times and never offered", n, times)
		}
	}
	duplicates := 0
	for _, times := range r.sink.delivered {
		duplicates += times - 1
	}
	if r.plan.every == 0 {
		require.Zero(t, counts["handed back"], "without a fault")
		require.Zero(t, duplicates, "without a fault")
	}
	require.NotZero(t, counts["acknowledged"])
	require.NotZero(t, counts["with bad records"])
	t.Logf("seed %d: %d batches, %d records, sends %v, %d records twice, %d streams, %d connections, %d faults",
		r.plan.seed, r.offered.Load(), records, counts, duplicates, r.session.Stats().Opened, r.faults.Opened(), len(r.story))
	if t.Failed() {
		for i, text := range r.story {
			t.Logf("fault %d: %s", i+1, text)
		}
	}
}

// fate is what the results of Send say about one number.
type fate struct {
	batch      uint64 // the last number of the batch
	acked, bad bool
	maybe      int // how often Send returned an UnsentError with MaybeDelivered
}

func (f fate) answered() bool { return f.acked || f.bad }

// settle adds the result of a Send to the fates of the numbers in its batch. It returns a name for
// the result.
func (r *faultRun) settle(fates map[uint64]fate, o outcome) string {
	each := func(first, last uint64, change func(*fate)) {
		for n := first; n <= last; n++ {
			f := fates[n]
			f.batch = o.batch.last // remains the same when the batch is sent again without its answered records
			change(&f)
			fates[n] = f
		}
	}
	places := func(ranges []stefgrpc.IDRange) (records uint64) {
		for _, p := range ranges {
			require.True(r.t, p.From >= 1 && p.From <= p.To && p.To <= o.batch.size(), "%v of %v", p, o.batch)
			each(o.batch.first+p.From-1, o.batch.first+p.To-1, func(f *fate) { f.bad = true })
			records += p.To - p.From + 1
		}
		return records
	}
	acked := func(records uint64) {
		each(o.batch.first, o.batch.first+records-1, func(f *fate) { f.acked = !f.bad })
	}
	var rejected *stefgrpc.RejectedError
	var broken *stefgrpc.BatchError
	var unsent *stefgrpc.UnsentError
	switch {
	case o.err == nil:
		acked(o.batch.size())
		return "acknowledged"
	case errors.As(o.err, &rejected):
		require.Equal(r.t, rejected.Records, places(rejected.Ranges))
		acked(o.batch.size())
		return "with bad records"
	case errors.As(o.err, &broken):
		require.True(r.t, o.batch.broken)
		require.ErrorIs(r.t, o.err, errBroken)
		each(o.batch.first, o.batch.last, func(*fate) {})
		return "broken"
	case errors.As(o.err, &unsent):
		require.NotNil(r.t, unsent.Cause)
		places(unsent.Rejected)
		acked(unsent.Acknowledged)
		each(o.batch.first, o.batch.last, func(f *fate) {
			if unsent.MaybeDelivered && !f.bad {
				f.maybe++
			}
		})
		return "handed back"
	}
	r.t.Errorf("Send returned %v", o.err)
	return "unknown"
}

// TestFaultsOverTCP is the fault test over sockets, through a proxy.
func TestFaultsOverTCP(t *testing.T) {
	f := func(name string, every int) {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			address := freeport.Address(t)
			p := plan(t, every)
			proxy, err := netfault.NewProxy(netfault.Link{Seed: p.seed}, address)
			require.NoError(t, err)
			listen := func() (l net.Listener, err error) {
				// Listening can fail for a short time: a connection that is being opened may use the port
				// as its local port.
				for range 200 {
					if l, err = net.Listen("tcp", address); err == nil {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				return l, err
			}
			p.run(t, proxy.Faults, listen, "passthrough:///"+proxy.Addr(), nil)
			require.NoError(t, proxy.Close())
			require.Zero(t, proxy.Held(netfault.Both))
		})
	}
	f("no faults", 0)
	f("faults", 50)
}

// TestFaultsInMemory is the fault test on a fake clock, over a network with latency. Waits on the
// fake clock take no real time, so the test can wait more often than TestFaultsOverTCP.
func TestFaultsInMemory(t *testing.T) {
	f := func(name string, every int, seed uint64) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := plan(t, every)
				p.seed += seed
				network, err := netfault.NewMemory(netfault.Link{Seed: p.seed, RoundTrip: 2 * time.Millisecond, Jitter: time.Millisecond})
				require.NoError(t, err)
				p.run(t, network.Faults, network.Listen, "passthrough:///memory", grpc.WithContextDialer(network.Dial))
				require.NoError(t, network.Close())
				require.Zero(t, network.Held(netfault.Both))
			})
		})
	}
	seeds := uint64(4)
	if long() {
		seeds = 25
	}
	f("no faults", 0, 0)
	for seed := range seeds {
		f(fmt.Sprintf("faults %d", seed), 20, seed)
	}
}
