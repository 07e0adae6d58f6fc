// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"io"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Traces describes traces.
var Traces = &Descriptor[ptrace.Traces]{
	Name:         "traces",
	ItemName:     "spans",
	Root:         otelstef.SpansRoot,
	Compact:      otelstef.SpansCompactRoot,
	Published:    otelstef.PublishedSpans,
	CompactLevel: stef.LevelFastest,

	New:    ptrace.NewTraces,
	CopyTo: ptrace.Traces.CopyTo,
	MoveTo: func(src, dst ptrace.Traces) { src.ResourceSpans().MoveAndAppendTo(dst.ResourceSpans()) },
	Items:  ptrace.Traces.SpanCount,
	Size:   new(ptrace.ProtoMarshaler).TracesSize,
	Marshal: func(batch ptrace.Traces) ([]byte, error) {
		return ptraceotlp.NewExportRequestFromTraces(batch).MarshalProto()
	},
	Unmarshal: func(request []byte) (ptrace.Traces, error) {
		r := ptraceotlp.NewExportRequest()
		err := r.UnmarshalProto(request)
		return r.Traces(), err
	},
	NewEncoder: func(dst io.Writer, options []stefpdata.EncoderOption, more ...stef.WriterOption) (*Encoder[ptrace.Traces], error) {
		w, err := otelstef.NewSpansWriter(dst, more...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewTracesEncoder(w, options...)
		return &Encoder[ptrace.Traces]{e.Encode, e.Losses, e.Reset, w}, nil
	},
	NewDecoder: func(src io.Reader, options []stefpdata.DecoderOption, more ...stef.ReaderOption) (*Decoder[ptrace.Traces], error) {
		r, err := otelstef.NewSpansReader(src, more...)
		if err != nil {
			return nil, err
		}
		d := stefpdata.NewTracesDecoder(r, options...)
		return &Decoder[ptrace.Traces]{d.Decode, d.BatchBytes, d.Records, d.SetMaxBytes, d.Reset, r}, nil
	},
	OTLP: OTLP[ptrace.Traces]{
		Service: "opentelemetry.proto.collector.trace.v1.TraceService",
		Count:   countSpans,
		Memory:  tracesRequest.memory,
		NewClient: func(conn *grpc.ClientConn) Export[ptrace.Traces] {
			client := ptraceotlp.NewGRPCClient(conn)
			return func(ctx context.Context, batch ptrace.Traces, options ...grpc.CallOption) (PartialSuccess, error) {
				response, err := client.Export(ctx, ptraceotlp.NewExportRequestFromTraces(batch), options...)
				if err != nil {
					return PartialSuccess{}, err
				}
				p := response.PartialSuccess()
				return PartialSuccess{p.RejectedSpans(), p.ErrorMessage()}, nil
			}
		},
	},
}
