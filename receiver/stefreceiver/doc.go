// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefreceiver is a receiver of the OpenTelemetry Collector that takes
// traces, metrics and logs as STEF streams and, on the same port, as plain
// OTLP over gRPC. README.md is for those who configure it.
//
//	stream of chunks -> source -> decoder -> consumers -> pipeline
//	request of OTLP  -----------> decoder ------------> pipeline
//
// A receiver is one gRPC server for all signals of a configuration (shared.go,
// server.go). A pipe (pipe.go) leads to the pipeline of one signal. The code is
// written once for all signals, which package internal/signal describes.
//
// The handler of a STEF stream (stream.go) decodes in order on its own
// goroutine, because a batch can only be read after the one before it, and
// hands each batch to a goroutine that gives it to the pipeline. Those finish in
// any order; the transport acknowledges up to the first record that is not
// finished. What the pipeline refuses for good is reported bad, record by
// record; what it refuses for now ends the stream, after everything accepted
// was acknowledged.
//
// Memory is bounded in two places: bytes as they are sent by the transport, and
// decoded bytes by the admission, which both protocols share (admission.go). A
// stream is admitted when the first bytes of a batch are there, before it is
// decoded, by the size of its last batch, and the number is put right when the
// size is known. A request of OTLP is admitted by its size before it is decoded.
package stefreceiver

//go:generate go tool -modfile=../../tools/components/go.mod mdatagen metadata.yaml
