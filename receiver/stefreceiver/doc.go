// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefreceiver is a receiver of the OpenTelemetry Collector. It receives
// traces, metrics and logs as STEF streams and, on the same port, as plain OTLP
// over gRPC. README.md describes its configuration.
//
//	stream of chunks -> source -> decoder -> consumers -> pipeline
//	request of OTLP  -----------> decoder ------------> pipeline
//
// The files, from the top of the package to the bottom:
//
//	factory.go, config*.go   components and their configuration
//	shared.go, server.go     one gRPC server for all signals of a configuration
//	handshake.go             TLS, and log lines about failed handshakes; peek_*.go looks at their
//	                         first bytes, and handshake_listener.go closes them at a shutdown
//	usertimeout_*.go         closes connections whose peer has disappeared
//	opening.go               STEF streams and OTLP requests that are refused when they begin
//	handler.go               both protocols of a signal
//	stream.go, batch.go      a STEF stream and its batches
//	source.go                the bytes of a stream
//	stream_end.go            why a stream ended
//	otlp.go                  an OTLP request
//	pipe.go                  the pipeline of one signal
//	refusal.go               what a client is told about data that was not accepted
//	core.go                  limits and shutdown, shared by streams and requests
//	fair_semaphore.go        fair shares of limited resources
//	client_state.go          what the receiver knows about each client
//	throttle.go              permits that streams and requests need if they are expensive to serve
//	cost_tracker.go          the cost of an OTLP request
//	sizer.go                 the size of batches as OTLP
//	decompress.go            decompression of OTLP requests
//	stream_memory.go         memory that streams hold between batches
//	release.go               returns memory to the operating system
//	meter.go, log.go         metrics and log lines
//
// The code is generic over all signals; package internal/signal describes them.
//
// A client is one connection. Some clients are expensive: their data becomes many times
// larger when it is decoded. While other clients send, the streams and requests of an
// expensive client need permits of a throttle (throttle.go), and wait for them.
//
// The handler of a STEF stream decodes in order on its own goroutine, because a
// batch can only be read after the previous batch. It hands each batch to another
// goroutine, which passes the batch to the pipeline. These goroutines end in any order;
// the transport acknowledges all records before the first unfinished record. If the
// pipeline refuses records permanently, they are reported as bad, record by record.
// If the pipeline refuses records temporarily, the stream ends after all accepted
// records were acknowledged.
//
// Memory is bounded at four points. The transport bounds received bytes. decompress.go
// bounds OTLP requests while they are decompressed. stream_memory.go bounds the memory
// that streams hold between batches. Admission bounds the batches of streams and the OTLP
// requests that are in memory at a time. A stream first waits until it may
// decode (core.decoding). Then it waits for admission of the expected size of its next
// batch: the size of the last batch or, for the first batch, the size that the frame
// states. A batch is bounded while it is decoded, and its real size counts from then on.
// An OTLP request is admitted by its size on the wire. Once it is decompressed, it is
// admitted by its weight (requestWeight), and only then decoded.
package stefreceiver

//go:generate go tool -modfile=../../tools/components/go.mod mdatagen metadata.yaml
