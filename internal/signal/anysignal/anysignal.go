// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package anysignal has the descriptors of package signal for code that learns the signal
// at run time. These descriptors use the batches of package otlpfile, which can hold any signal.
package anysignal

import (
	"context"
	"io"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Descriptor describes a signal. Its functions accept only batches of that signal.
type Descriptor = signal.Descriptor[otlpfile.Batch]

var descriptors = map[otlpfile.Signal]*Descriptor{
	otlpfile.Metrics: of(signal.Metrics, otlpfile.MetricsBatch, func(b otlpfile.Batch) pmetric.Metrics { return b.Metrics }),
	otlpfile.Traces:  of(signal.Traces, otlpfile.TracesBatch, func(b otlpfile.Batch) ptrace.Traces { return b.Traces }),
	otlpfile.Logs:    of(signal.Logs, otlpfile.LogsBatch, func(b otlpfile.Batch) plog.Logs { return b.Logs }),
}

// Of returns the descriptor of a signal, or nil if the signal is unknown.
func Of(s otlpfile.Signal) *Descriptor { return descriptors[s] }

// of describes a signal whose pdata has the type T. wrap and pdata convert between the two
// types of batches.
func of[T any](d *signal.Descriptor[T], wrap func(T) otlpfile.Batch, pdata func(otlpfile.Batch) T) *Descriptor {
	return &Descriptor{
		Name:         d.Name,
		ItemName:     d.ItemName,
		Root:         d.Root,
		Compact:      d.Compact,
		Published:    d.Published,
		CompactLevel: d.CompactLevel,

		New:     func() otlpfile.Batch { return wrap(d.New()) },
		CopyTo:  func(src, dst otlpfile.Batch) { d.CopyTo(pdata(src), pdata(dst)) },
		MoveTo:  func(src, dst otlpfile.Batch) { d.MoveTo(pdata(src), pdata(dst)) },
		Items:   func(b otlpfile.Batch) int { return d.Items(pdata(b)) },
		Size:    func(b otlpfile.Batch) int { return d.Size(pdata(b)) },
		Marshal: func(b otlpfile.Batch) ([]byte, error) { return d.Marshal(pdata(b)) },
		Unmarshal: func(request []byte) (otlpfile.Batch, error) {
			batch, err := d.Unmarshal(request)
			return wrap(batch), err
		},
		NewEncoder: func(dst io.Writer, options []stefpdata.EncoderOption, more ...stef.WriterOption) (*signal.Encoder[otlpfile.Batch], error) {
			e, err := d.NewEncoder(dst, options, more...)
			if err != nil {
				return nil, err
			}
			encode := func(b otlpfile.Batch) error { return e.Encode(pdata(b)) }
			return &signal.Encoder[otlpfile.Batch]{Encode: encode, Losses: e.Losses, Reset: e.Reset, Writer: e.Writer}, nil
		},
		NewDecoder: func(src io.Reader, options []stefpdata.DecoderOption, more ...stef.ReaderOption) (*signal.Decoder[otlpfile.Batch], error) {
			r, err := d.NewDecoder(src, options, more...)
			if err != nil {
				return nil, err
			}
			decode := func() (otlpfile.Batch, error) {
				batch, err := r.Decode()
				return wrap(batch), err
			}
			return &signal.Decoder[otlpfile.Batch]{Decode: decode, BatchBytes: r.BatchBytes, Records: r.Records, SetMaxBytes: r.SetMaxBytes, Reset: r.Reset, Reader: r.Reader}, nil
		},
		OTLP: signal.OTLP[otlpfile.Batch]{
			Service: d.OTLP.Service,
			Count:   d.OTLP.Count,
			Memory:  d.OTLP.Memory,
			NewClient: func(conn *grpc.ClientConn) signal.Export[otlpfile.Batch] {
				export := d.OTLP.NewClient(conn)
				return func(ctx context.Context, b otlpfile.Batch, options ...grpc.CallOption) (signal.PartialSuccess, error) {
					return export(ctx, pdata(b), options...)
				}
			},
		},
	}
}
