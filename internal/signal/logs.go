// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"io"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Logs describes logs.
var Logs = &Descriptor[plog.Logs]{
	Name:         "logs",
	ItemName:     "log records",
	Root:         otelstef.LogsRoot,
	Compact:      otelstef.LogsCompactRoot,
	CompactLevel: stef.LevelFastest,

	New:    plog.NewLogs,
	CopyTo: plog.Logs.CopyTo,
	MoveTo: func(src, dst plog.Logs) { src.ResourceLogs().MoveAndAppendTo(dst.ResourceLogs()) },
	Items:  plog.Logs.LogRecordCount,
	Size:   new(plog.ProtoMarshaler).LogsSize,
	Marshal: func(batch plog.Logs) ([]byte, error) {
		return plogotlp.NewExportRequestFromLogs(batch).MarshalProto()
	},
	Unmarshal: func(request []byte) (plog.Logs, error) {
		r := plogotlp.NewExportRequest()
		err := r.UnmarshalProto(request)
		return r.Logs(), err
	},
	NewEncoder: func(dst io.Writer, options []stefpdata.EncoderOption, more ...stef.WriterOption) (*Encoder[plog.Logs], error) {
		w, err := otelstef.NewLogsWriter(dst, more...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewLogsEncoder(w, options...)
		return &Encoder[plog.Logs]{e.Encode, e.Losses, e.Reset, w}, nil
	},
	NewDecoder: func(src io.Reader, options []stefpdata.DecoderOption, more ...stef.ReaderOption) (*Decoder[plog.Logs], error) {
		r, err := otelstef.NewLogsReader(src, more...)
		if err != nil {
			return nil, err
		}
		d := stefpdata.NewLogsDecoder(r, options...)
		return &Decoder[plog.Logs]{d.Decode, d.BatchBytes, d.Records, d.SetMaxBytes, d.Reset, r}, nil
	},
	OTLP: OTLP[plog.Logs]{
		Service: "opentelemetry.proto.collector.logs.v1.LogsService",
		Count:   countLogRecords,
		Memory:  logsRequest.memory,
		NewClient: func(conn *grpc.ClientConn) Export[plog.Logs] {
			client := plogotlp.NewGRPCClient(conn)
			return func(ctx context.Context, batch plog.Logs, options ...grpc.CallOption) (PartialSuccess, error) {
				response, err := client.Export(ctx, plogotlp.NewExportRequestFromLogs(batch), options...)
				if err != nil {
					return PartialSuccess{}, err
				}
				p := response.PartialSuccess()
				return PartialSuccess{p.RejectedLogRecords(), p.ErrorMessage()}, nil
			}
		},
	},
}
