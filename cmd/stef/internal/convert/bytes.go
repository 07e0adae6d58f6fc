// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"io"
	"math"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// The encoders in this file write OTLP bytes into a stream in their order, and
// the decoders produce OTLP bytes from a stream. They build no pdata, which is
// faster.

func metricsOfBytes(out io.Writer, opts []stef.WriterOption) (encoder, error) {
	w, err := otelstef.NewMetricsWriter(out, opts...)
	if err != nil {
		return nil, err
	}
	return ofBytes(w, stefotlp.NewMetricsEncoder(w)), nil
}

func tracesOfBytes(out io.Writer, opts []stef.WriterOption) (encoder, error) {
	w, err := otelstef.NewSpansWriter(out, opts...)
	if err != nil {
		return nil, err
	}
	return ofBytes(w, stefotlp.NewTracesEncoder(w)), nil
}

func logsOfBytes(out io.Writer, opts []stef.WriterOption) (encoder, error) {
	w, err := otelstef.NewLogsWriter(out, opts...)
	if err != nil {
		return nil, err
	}
	return ofBytes(w, stefotlp.NewLogsEncoder(w)), nil
}

func ofBytes(w signal.Writer, e interface {
	EncodeOTLP([]byte) error
	Losses() stefotlp.Losses
}) encoder {
	return &batchEncoder{w, func(b otlpfile.Batch) error { return e.EncodeOTLP(b.OTLP) }, e.Losses}
}

func metricsToBytes(in io.Reader, opts []stef.ReaderOption) (decoder, error) {
	r, err := otelstef.NewMetricsReader(in, opts...)
	if err != nil {
		return nil, err
	}
	return toBytes(otlpfile.Metrics, r, stefotlp.NewMetricsDecoder(r, wholeFrames...)), nil
}

func tracesToBytes(in io.Reader, opts []stef.ReaderOption) (decoder, error) {
	r, err := otelstef.NewSpansReader(in, opts...)
	if err != nil {
		return nil, err
	}
	return toBytes(otlpfile.Traces, r, stefotlp.NewTracesDecoder(r, wholeFrames...)), nil
}

func logsToBytes(in io.Reader, opts []stef.ReaderOption) (decoder, error) {
	r, err := otelstef.NewLogsReader(in, opts...)
	if err != nil {
		return nil, err
	}
	return toBytes(otlpfile.Logs, r, stefotlp.NewLogsDecoder(r, wholeFrames...)), nil
}

// wholeFrames makes one message per frame, unless a frame with many repetitions
// would exhaust the memory.
var wholeFrames = []stefotlp.DecoderOption{stefotlp.WithMaxItems(math.MaxInt32)}

// toBytes returns a decoder whose batches have only OTLP bytes, valid until the
// next batch.
func toBytes(s otlpfile.Signal, r signal.Reader, d interface {
	AppendOTLP([]byte) ([]byte, error)
}) decoder {
	var message []byte
	return &batchDecoder{func() (_ otlpfile.Batch, err error) {
		message, err = d.AppendOTLP(message[:0])
		return otlpfile.Batch{Signal: s, OTLP: message}, err
	}, r.Stats}
}
