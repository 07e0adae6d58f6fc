// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefencodingextension is a Collector extension that marshals traces,
// metrics and logs to STEF messages and unmarshals them. Components with a setting for an
// encoding extension (Kafka, files, object storage) can then read and write STEF.
//
// A message is one complete STEF stream. So a reader needs no other message to decode it. It may
// not have the other messages: partitions are rebalanced, and objects are listed in any order.
// Writers, encoders and readers are reset for the next message, not rebuilt.
//
//	config.go    options, defaults, validation
//	factory.go   the factory for the Collector
//	extension.go the extension: one codec per signal, lifecycle
//	codec.go     marshal and unmarshal messages of one signal
//	stream.go    decoders that read one batch after another from a stream
//	errors.go    errors that say what is wrong with a message and what to do
//	telemetry.go metrics and log lines
//
// README.md describes the options and what each component supports.
package stefencodingextension

//go:generate go tool -modfile=../../tools/components/go.mod mdatagen metadata.yaml
