// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package transport sends batches from a client to a server in one process,
// over real gRPC and a network with an injected round trip (package netfault),
// and measures the cost:
//
//	result, err := transport.Run(ctx, transport.Config{
//		Protocol: transport.STEF, Clients: 1, RoundTrip: 20 * time.Millisecond,
//	}, batches)
//
// Both protocols do the same work: pdata in, bytes over the network, pdata out.
// The server examines the pdata before it acknowledges. A client of OTLP waits
// for the answer to each request; STEF continues to send and waits for all
// answers at the end.
package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	// This import registers the zstd of the Collector for gRPC.
	_ "go.opentelemetry.io/collector/config/configgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	// This import registers gzip for gRPC.
	_ "google.golang.org/grpc/encoding/gzip"

	"github.com/otelstef/stef/internal/cputime"
	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/internal/otlpfile"
)

// Protocol is a protocol for sending batches.
type Protocol string

const (
	// OTLP is OTLP over gRPC: a unary request for each batch.
	OTLP Protocol = "OTLP"
	// STEF is STEF over gRPC: streams of batches.
	STEF Protocol = "STEF"
)

// Compression is the compression of the protocol: of gRPC messages, or of the
// format itself for STEF with zstd.
type Compression string

// The compressions.
const (
	None Compression = "none"
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

// Config says how to send.
type Config struct {
	Protocol    Protocol
	Compression Compression
	// Clients is the number of requests in flight, or the number of streams, on
	// one connection.
	Clients int
	// Workers bounds the number of batches that the server deserialises and
	// examines concurrently; 0 is unlimited.
	Workers int
	// RoundTrip is the round trip time of the network.
	RoundTrip time.Duration
	// Window is the flow control window of gRPC for streams and connection, at
	// both ends; 0 uses gRPC's default.
	Window int32
	// For sends the batches in laps until this time has passed, instead of once
	// each. In every lap the batches have new ids and later times, because no sender repeats
	// ids and times. The CPU time for changing them counts for both protocols.
	For time.Duration
}

// Result is the cost of a run.
type Result struct {
	Batches, Items int
	Wall, CPU      time.Duration
	// Up and Down are the bytes on the network, frames of HTTP/2 included.
	Up, Down int64
	// Checked is the number of items that the server saw.
	Checked int64
}

// BatchesPerSecond is the throughput in batches.
func (r Result) BatchesPerSecond() float64 { return float64(r.Batches) / r.Wall.Seconds() }

// ItemsPerSecond is the throughput in items.
func (r Result) ItemsPerSecond() float64 { return float64(r.Items) / r.Wall.Seconds() }

// BatchesPerCPUSecond is the number of batches per second of processor time of
// both ends.
func (r Result) BatchesPerCPUSecond() float64 { return float64(r.Batches) / r.CPU.Seconds() }

// ErrLost is the error for a run in which the server did not see all items.
var ErrLost = errors.New("transport: items were lost")

// DefaultWindow is the flow control window of the tables. With gRPC's own
// choice, the first seconds of a connection with a long round trip would
// measure how the window grows.
const DefaultWindow = 16 << 20

// sender sends batches for one client.
type sender interface {
	send(ctx context.Context, b otlpfile.Batch) error
	// finish waits until everything is acknowledged.
	finish(ctx context.Context) error
	close()
}

// run is a client and a server connected by a network.
type run struct {
	config  Config
	network *netfault.Memory
	server  *grpc.Server
	conn    *grpc.ClientConn
	seen    atomic.Int64
	slots   chan struct{}
	// arrived receives all batches in tests, before the server examines them.
	arrived func(otlpfile.Batch)
}

// Run sends batches, each once unless the configuration sets a duration. The
// connection is established and each client has sent a batch before the clock
// starts.
func Run(ctx context.Context, c Config, batches []otlpfile.Batch) (Result, error) {
	return (&run{config: c}).all(ctx, batches)
}

func (r *run) all(ctx context.Context, batches []otlpfile.Batch) (Result, error) {
	defer r.stop()
	if err := r.start(batches[0].Signal); err != nil {
		return Result{}, err
	}
	senders, err := r.senders(ctx, batches)
	for _, s := range senders {
		if s != nil {
			defer s.close()
		}
	}
	if err != nil {
		return Result{}, err
	}
	source := r.source(batches)
	r.seen.Store(0)
	up, down, cpu, begin := r.network.Bytes(netfault.Up), r.network.Bytes(netfault.Down), cputime.Used(), time.Now()
	result, err := r.sendAll(ctx, senders, source)
	if err != nil {
		return result, err
	}
	result.Wall, result.CPU = time.Since(begin), cputime.Used()-cpu
	result.Up, result.Down = r.network.Bytes(netfault.Up)-up, r.network.Bytes(netfault.Down)-down
	result.Checked = r.seen.Load()
	if result.Checked != int64(result.Items) {
		return result, fmt.Errorf("%w: %d of %d arrived", ErrLost, result.Checked, result.Items)
	}
	return result, nil
}

// senders opens the clients and sends a batch with each of them.
func (r *run) senders(ctx context.Context, batches []otlpfile.Batch) ([]sender, error) {
	senders, failures := make([]sender, r.config.Clients), make([]error, r.config.Clients)
	var wait sync.WaitGroup
	for i := range senders {
		wait.Go(func() {
			s, err := r.open(ctx, batches[0].Signal)
			if err != nil {
				failures[i] = err
				return
			}
			senders[i] = s
			failures[i] = errors.Join(s.send(ctx, warmUp(batches[i%len(batches)], i)), s.finish(ctx))
		})
	}
	wait.Wait()
	return senders, errors.Join(failures...)
}

// source returns two functions for a client. next returns the next batch, or false if
// no batches remain. The client calls sent after each batch that it has sent.
type source func(client int) (next func() (*lap, bool), sent func(*lap))

// source returns the source of the run. Each batch is sent once by one of the clients, unless the
// configuration sets a duration.
func (r *run) source(batches []otlpfile.Batch) source {
	if r.config.For > 0 {
		return laps(batches, r.config)
	}
	var taken atomic.Int64
	next := func() (*lap, bool) {
		n := int(taken.Add(1) - 1)
		if n >= len(batches) {
			return nil, false
		}
		return &lap{batch: batches[n]}, true
	}
	return func(int) (func() (*lap, bool), func(*lap)) { return next, func(*lap) {} }
}

// sendAll makes all clients send, and waits for all answers.
func (r *run) sendAll(ctx context.Context, senders []sender, source source) (Result, error) {
	var sent, items atomic.Int64
	var wait sync.WaitGroup
	failures := make(chan error, 2*len(senders))
	for i, s := range senders {
		next, done := source(i)
		wait.Go(func() {
			for l, ok := next(); ok; l, ok = next() {
				n := l.batch.Items()
				err := s.send(ctx, l.batch)
				done(l)
				if err != nil {
					failures <- err
					return
				}
				sent.Add(1)
				items.Add(int64(n))
			}
			if err := s.finish(ctx); err != nil {
				failures <- err
			}
		})
	}
	wait.Wait()
	close(failures)
	return Result{Batches: int(sent.Load()), Items: int(items.Load())}, <-failures
}

func (r *run) start(signal otlpfile.Signal) error {
	c := r.config
	if c.Workers > 0 {
		r.slots = make(chan struct{}, c.Workers)
	}
	var err error
	if r.network, err = netfault.NewMemory(netfault.Link{RoundTrip: c.RoundTrip, Window: 64 << 20}); err != nil {
		return err
	}
	listener, err := r.network.Listen()
	if err != nil {
		return err
	}
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(64 << 20), grpc.MaxConcurrentStreams(1 << 16)}
	dial := []grpc.DialOption{grpc.WithContextDialer(r.network.Dial), grpc.WithTransportCredentials(insecure.NewCredentials())}
	if c.Window > 0 {
		options = append(options, grpc.InitialWindowSize(c.Window), grpc.InitialConnWindowSize(c.Window))
		dial = append(dial, grpc.WithInitialWindowSize(c.Window), grpc.WithInitialConnWindowSize(c.Window))
	}
	if r.server, err = r.serve(signal, options); err != nil {
		return err
	}
	go func() { _ = r.server.Serve(listener) }() // the only error is that it was stopped
	r.conn, err = grpc.NewClient("passthrough:///memory", dial...)
	return err
}

func (r *run) stop() {
	if r.conn != nil {
		_ = r.conn.Close()
	}
	if r.server != nil {
		r.server.Stop()
	}
	if r.network != nil {
		_ = r.network.Close()
	}
}

func (r *run) serve(signal otlpfile.Signal, options []grpc.ServerOption) (*grpc.Server, error) {
	if r.config.Protocol == STEF {
		return r.serveSTEF(signal, options)
	}
	return r.serveOTLP(signal, options), nil
}

func (r *run) open(ctx context.Context, signal otlpfile.Signal) (sender, error) {
	if r.config.Protocol == STEF {
		return r.openSTEF(ctx, signal)
	}
	return r.openOTLP(signal), nil
}

// work waits for a free worker of the server, and runs the function do on this worker.
func (r *run) work(do func() error) error {
	if r.slots != nil {
		r.slots <- struct{}{}
		defer func() { <-r.slots }()
	}
	return do()
}

// examine is the server's work on a batch: a small part of the work of a pipeline. A server that only
// counts would make the transport look better than it is.
func (r *run) examine(b otlpfile.Batch) {
	if r.arrived != nil {
		r.arrived(b)
	}
	switch b.Signal {
	case otlpfile.Traces:
		for _, rs := range b.Traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					if _, ok := span.Attributes().Get("error"); ok {
						span.Status().SetMessage("error")
					}
				}
			}
		}
	case otlpfile.Logs:
		for _, rl := range b.Logs.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, lr := range sl.LogRecords().All() {
					if strings.Contains(lr.Body().Str(), "no such line") {
						lr.Attributes().PutBool("found", true)
					}
				}
			}
		}
	}
	r.seen.Add(int64(b.Items()))
}
