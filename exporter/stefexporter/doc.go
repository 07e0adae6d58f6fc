// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefexporter is a Collector exporter of traces, metrics and logs. It
// sends STEF streams, or OTLP to peers that do not implement STEF.
//
// A batch passes these files, in this order:
//
//	oversized.go       refuses a batch that is larger than the whole queue
//	senders.go         logs senders that wait for room in a full queue
//	factory.go         exporterhelper: queue, retry, timeout
//	exporter.go        one exporter for each signal: start, push, shutdown
//	retry.go           sends the batches of a queue in memory again, in place of exporterhelper
//	balance.go         with a routing key: splits the batch by backend; split.go divides
//	                   batches, and ring.go maps keys to backends
//	backend.go         the connections and routes of one backend
//	identity.go        one route for each combination of client metadata
//	route.go           STEF or OTLP, by configuration or by what the peer can do
//	stef.go            sessions of STEF streams; encoding.go fills the streams
//	otlp.go            requests of OTLP
//	retry_decision.go  what an answer means for the batch: retry, wait, drop
//	answer.go          whether an error arose here or the peer sent it
//	explain.go         what the user can do about an error
//
// These files configure the exporter, or report what it does:
//
//	config*.go         keys, defaults, validation
//	optimize.go        the key optimize_for
//	connections.go     options of connections, and pauses between attempts to connect
//	health.go          the status of the exporter; outage.go and warnings.go limit log lines,
//	                   also between the signals of a configuration (signal_group.go)
//	telemetry.go       metrics; wire.go counts bytes of OTLP, and estimate.go estimates what
//	                   STEF saved
//
// A backend is one address to which batches are sent. A route sends the batches of one
// identity, which is a combination of values of the client metadata, to a backend.
//
// README.md describes the behaviour for users.
package stefexporter

//go:generate go tool -modfile=../../tools/components/go.mod mdatagen metadata.yaml
