// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/fixtures/recordings"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/signal/anysignal"
)

// kind is a signal: a kind of telemetry.
type kind int

const (
	metrics kind = iota
	traces
	logs
)

var signals = [...]struct {
	name, item string
	signal     otlpfile.Signal
	short      func() []byte
}{
	metrics: {signal.Metrics.Name, signal.Metrics.ItemName, otlpfile.Metrics, fixtures.Metrics},
	traces:  {signal.Traces.Name, signal.Traces.ItemName, otlpfile.Traces, fixtures.Traces},
	logs:    {signal.Logs.Name, signal.Logs.ItemName, otlpfile.Logs, fixtures.Logs},
}

type recording struct {
	items   int
	batches []otlpfile.Batch
}

// long returns a 12-minute recording of the Go services.
func (s kind) long() []byte {
	return recordings.Recording{Program: "go", Signal: signals[s].name}.File()
}

func load(s kind, file []byte) (*recording, error) {
	r, err := otlpfile.Open(bytes.NewReader(file), otlpfile.FormatUnknown, signals[s].signal)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", signals[s].name, err)
	}
	defer r.Close()
	loaded := &recording{}
	for {
		b, err := r.Next()
		if err == io.EOF {
			return loaded, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", signals[s].name, err)
		}
		b.OTLP = nil // the reader reuses this memory
		loaded.items += b.Items()
		loaded.batches = append(loaded.batches, b)
	}
}

func averages(recordings *[len(signals)]*recording) string {
	var list []string
	for s, r := range recordings {
		list = append(list, fmt.Sprintf("%.1f %s", float64(r.items)/float64(max(1, len(r.batches))), signals[s].item))
	}
	return strings.Join(list, ", ")
}

// halves splits a recording into two parts with about the same number of items.
func (r *recording) halves() (start, steady *recording) {
	start, steady = &recording{}, &recording{}
	for _, b := range r.batches {
		half := start
		if start.items >= r.items/2 {
			half = steady
		}
		half.items += b.Items()
		half.batches = append(half.batches, b)
	}
	return start, steady
}

// source yields copies of the batches, since a player may change them.
func (r *recording) source() iter.Seq2[otlpfile.Batch, error] {
	return func(yield func(otlpfile.Batch, error) bool) {
		for _, b := range r.batches {
			copied := anysignal.Of(b.Signal).New()
			anysignal.Of(b.Signal).CopyTo(b, copied)
			if !yield(copied, nil) {
				return
			}
		}
	}
}

func (r *recording) send(ctx context.Context, endpoint string, rounds int) error {
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	p := replay.Player{Send: replay.NewOTLPSender(conn, "").Send, Rounds: rounds}
	_, err = p.Play(ctx, r.source)
	return err
}
