// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package transport sends batches from a client to a server in one process, over
// real gRPC and a network with an injected round trip (package netfault), and
// measures what it takes:
//
//	result, err := transport.Run(ctx, transport.Config{
//		Protocol: transport.STEF, Clients: 1, RoundTrip: 20 * time.Millisecond,
//	}, batches)
//
// Both protocols do the same work: pdata in, bytes over the network, pdata out,
// which the server looks at before it acknowledges. A client of OTLP waits for
// the answer to each request; STEF sends on and waits for all answers in the end.
package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	// The zstd of gRPC is that of the Collector, which this package registers.
	_ "go.opentelemetry.io/collector/config/configgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	// gRPC registers gzip when it is imported.
	_ "google.golang.org/grpc/encoding/gzip"

	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/internal/otlpfile"
)

// Protocol is a way to send batches.
type Protocol string

const (
	// OTLP is OTLP over gRPC: a unary request for each batch.
	OTLP Protocol = "OTLP"
	// STEF is STEF over gRPC: streams of batches.
	STEF Protocol = "STEF"
)

// Compression is that of the protocol: of gRPC messages, or for STEF with zstd
// that of the format.
type Compression string

// The compressions.
const (
	None Compression = "none"
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

// Config is how to send.
type Config struct {
	Protocol    Protocol
	Compression Compression
	// Clients is how many requests are under way at once, or how many streams
	// there are, on one connection.
	Clients int
	// Workers bounds how many batches the server deserialises and looks at at
	// once; 0 is no bound.
	Workers int
	// RoundTrip is that of the network.
	RoundTrip time.Duration
	// Window is the flow control window of gRPC for streams and connection, at
	// both ends; 0 leaves it to gRPC.
	Window int32
	// For sends batches again and again until so much time has passed, instead of
	// each once.
	For time.Duration
}

// Result is what it took.
type Result struct {
	Batches, Items int
	Wall, CPU      time.Duration
	// Up and Down are the bytes on the network, frames of HTTP/2 included.
	Up, Down int64
	// Checked is the number of items that the server saw.
	Checked int64
}

// BatchesPerSecond and the like are what tables show.
func (r Result) BatchesPerSecond() float64 { return float64(r.Batches) / r.Wall.Seconds() }

// ItemsPerSecond is the throughput in items.
func (r Result) ItemsPerSecond() float64 { return float64(r.Items) / r.Wall.Seconds() }

// BatchesPerCPUSecond is the throughput by processor time of both ends.
func (r Result) BatchesPerCPUSecond() float64 { return float64(r.Batches) / r.CPU.Seconds() }

// ErrLost is a run in which the server did not see all items.
var ErrLost = errors.New("transport: items were lost")

// DefaultWindow is the flow control window of the tables: with gRPC's own choice
// the first seconds of a connection with a long round trip measure how the window
// grows.
const DefaultWindow = 16 << 20

// sender sends batches for one client.
type sender interface {
	send(ctx context.Context, b otlpfile.Batch) error
	// finish waits until all is acknowledged.
	finish(ctx context.Context) error
	close()
}

// run is a client and a server with a network between them.
type run struct {
	config  Config
	network *netfault.Memory
	server  *grpc.Server
	conn    *grpc.ClientConn
	seen    atomic.Int64
	slots   chan struct{}
	// arrived gets all batches in tests, before the server looks at them.
	arrived func(otlpfile.Batch)
}

// Run sends batches, each once unless the configuration says for how long. The
// connection is up and each client has sent a batch before the clock starts.
func Run(ctx context.Context, c Config, batches []otlpfile.Batch) (Result, error) {
	return (&run{config: c}).all(ctx, batches)
}

// all does a run.
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
	r.seen.Store(0)
	up, down, cpu, begin := r.network.Bytes(netfault.Up), r.network.Bytes(netfault.Down), measure.CPU(), time.Now()
	result, err := r.sendAll(ctx, senders, batches)
	if err != nil {
		return result, err
	}
	result.Wall, result.CPU = time.Since(begin), measure.CPU()-cpu
	result.Up, result.Down = r.network.Bytes(netfault.Up)-up, r.network.Bytes(netfault.Down)-down
	result.Checked = r.seen.Load()
	if result.Checked != int64(result.Items) {
		return result, fmt.Errorf("%w: %d of %d arrived", ErrLost, result.Checked, result.Items)
	}
	return result, nil
}

// senders returns the clients, each with a batch sent.
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
			failures[i] = errors.Join(s.send(ctx, batches[i%len(batches)]), s.finish(ctx))
		})
	}
	wait.Wait()
	return senders, errors.Join(failures...)
}

// source returns what gives a client its batches, one after the other, until
// there are no more. Each batch is sent once by one of the clients. When a run
// lasts for a time, each client sends all of them over and over, beginning
// elsewhere: so a stream of STEF meets a batch again only after all others, when
// it is out of the window of its compression, however many streams there are.
func (r *run) source(batches []otlpfile.Batch) func(client int) func() (otlpfile.Batch, bool) {
	if r.config.For == 0 {
		var next atomic.Int64
		return func(int) func() (otlpfile.Batch, bool) {
			return func() (b otlpfile.Batch, ok bool) {
				n := int(next.Add(1) - 1)
				if n >= len(batches) {
					return b, false
				}
				return batches[n], true
			}
		}
	}
	end := time.Now().Add(r.config.For)
	return func(client int) func() (otlpfile.Batch, bool) {
		n := client * len(batches) / r.config.Clients
		return func() (otlpfile.Batch, bool) {
			n++
			return batches[n%len(batches)], time.Now().Before(end)
		}
	}
}

// sendAll has all clients send, and waits for all answers.
func (r *run) sendAll(ctx context.Context, senders []sender, batches []otlpfile.Batch) (Result, error) {
	var sent, items atomic.Int64
	var wait sync.WaitGroup
	failures := make(chan error, 2*len(senders))
	source := r.source(batches)
	for i, s := range senders {
		next := source(i)
		wait.Go(func() {
			for b, ok := next(); ok; b, ok = next() {
				if err := s.send(ctx, b); err != nil {
					failures <- err
					return
				}
				sent.Add(1)
				items.Add(int64(b.Items()))
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
	go func() { _ = r.server.Serve(listener) }() // its error is that it was stopped
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
	return r.openOTLP(), nil
}

// work does what takes a worker of the server.
func (r *run) work(do func() error) error {
	if r.slots != nil {
		r.slots <- struct{}{}
		defer func() { <-r.slots }()
	}
	return do()
}

// look is what the server does with a batch: a little of what a pipeline does,
// as a server that only counts would make the transport look better than it is.
func (r *run) look(b otlpfile.Batch) {
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
