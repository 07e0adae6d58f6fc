// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"io"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Metrics describes metrics.
var Metrics = &Descriptor[pmetric.Metrics]{
	Name:         "metrics",
	ItemName:     "data points",
	Root:         otelstef.MetricsRoot,
	Compact:      otelstef.MetricsCompactRoot,
	Published:    otelstef.PublishedMetrics,
	CompactLevel: stef.LevelAuto,

	New:    pmetric.NewMetrics,
	CopyTo: pmetric.Metrics.CopyTo,
	MoveTo: func(src, dst pmetric.Metrics) { src.ResourceMetrics().MoveAndAppendTo(dst.ResourceMetrics()) },
	Items:  pmetric.Metrics.DataPointCount,
	Size:   new(pmetric.ProtoMarshaler).MetricsSize,
	Marshal: func(batch pmetric.Metrics) ([]byte, error) {
		return pmetricotlp.NewExportRequestFromMetrics(batch).MarshalProto()
	},
	Unmarshal: func(request []byte) (pmetric.Metrics, error) {
		r := pmetricotlp.NewExportRequest()
		err := r.UnmarshalProto(request)
		return r.Metrics(), err
	},
	NewEncoder: func(dst io.Writer, options []stefpdata.EncoderOption, more ...stef.WriterOption) (*Encoder[pmetric.Metrics], error) {
		w, err := otelstef.NewMetricsWriter(dst, more...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewMetricsEncoder(w, options...)
		return &Encoder[pmetric.Metrics]{e.Encode, e.Losses, e.Reset, w}, nil
	},
	NewDecoder: func(src io.Reader, options []stefpdata.DecoderOption, more ...stef.ReaderOption) (*Decoder[pmetric.Metrics], error) {
		r, err := otelstef.NewMetricsReader(src, more...)
		if err != nil {
			return nil, err
		}
		d := stefpdata.NewMetricsDecoder(r, options...)
		return &Decoder[pmetric.Metrics]{d.Decode, d.BatchBytes, d.Records, d.SetMaxBytes, d.Reset, r}, nil
	},
	OTLP: OTLP[pmetric.Metrics]{
		Service: "opentelemetry.proto.collector.metrics.v1.MetricsService",
		Count:   countPoints,
		Memory:  metricsRequest.memory,
		NewClient: func(conn *grpc.ClientConn) Export[pmetric.Metrics] {
			client := pmetricotlp.NewGRPCClient(conn)
			return func(ctx context.Context, batch pmetric.Metrics, options ...grpc.CallOption) (PartialSuccess, error) {
				response, err := client.Export(ctx, pmetricotlp.NewExportRequestFromMetrics(batch), options...)
				if err != nil {
					return PartialSuccess{}, err
				}
				p := response.PartialSuccess()
				return PartialSuccess{p.RejectedDataPoints(), p.ErrorMessage()}, nil
			}
		},
	},
}
