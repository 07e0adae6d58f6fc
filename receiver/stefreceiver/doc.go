// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefreceiver is a receiver of the OpenTelemetry Collector that takes
// traces, metrics and logs as STEF streams and, on the same port, as plain
// OTLP over gRPC. README.md is for those who configure it.
//
//	stream of chunks -> source -> decoder -> consumers -> pipeline
//	request of OTLP  -----------> decoder ------------> pipeline
//
// The files from the top of the package down:
//
//	factory.go, config.go    components and their configuration
//	shared.go, server.go     one gRPC server for all signals of a configuration
//	handler.go               both protocols of a signal
//	stream.go, batch.go      a STEF stream, and the way of its batches
//	otlp.go                  an OTLP request
//	pipe.go                  the pipeline of one signal
//	core.go                  limits and the end of the receiver, for all of these
//	gate.go, party.go        fair shares of what is limited
//	stream_memory.go         memory that streams hold between batches
//
// The code is written once for all signals, which package internal/signal
// describes.
//
// The handler of a STEF stream decodes in order on its own goroutine, because a
// batch can only be read after the one before it. It hands each batch to a
// goroutine that passes it to the pipeline. These end in any order; the transport
// acknowledges up to the first record that is not finished. What the pipeline
// refuses for good is reported bad, record by record. What it refuses for now ends
// the stream, after everything accepted was acknowledged.
//
// Memory is bounded in three places: received bytes by the transport, what streams
// hold between batches by stream_memory.go, and decoded batches by admission, which
// both protocols share. A stream waits for a place to decode, then for admission by
// what it expects from its last batch or, at first, from the size that the frame
// states. A batch is bounded while it is decoded, and counts by its real size from
// then on. An OTLP request is admitted by its size before it is decoded.
package stefreceiver

//go:generate go tool -modfile=../../tools/components/go.mod mdatagen metadata.yaml
