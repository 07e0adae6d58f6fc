// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefexporter is a Collector exporter of traces, metrics and logs. It
// sends STEF streams, or OTLP to peers that do not implement STEF.
//
// A batch passes these files, in this order:
//
//	factory.go         exporterhelper: queue, retry, timeout
//	exporter.go        one exporter for each signal: start, push, shutdown
//	identity.go        one route for each combination of client metadata
//	route.go           STEF or OTLP, by configuration or by what the peer can do
//	stef.go            sessions of STEF streams; encoding.go fills the streams
//	otlp.go            requests of OTLP
//	retry_decision.go  what an answer means for the batch: retry, wait, drop
//	answer.go          whether an error arose here or the peer sent it
//	explain.go         what the user can do about an error
//
// A backend is one address to which batches are sent. A route sends the batches of one
// identity, which is a combination of values of the client metadata, to a backend.
//
// README.md describes the behaviour for users.
package stefexporter

//go:generate go tool -modfile=../../tools/components/go.mod mdatagen metadata.yaml
