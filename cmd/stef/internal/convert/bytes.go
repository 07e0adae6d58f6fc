// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"io"
	"math"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// The encoders in this file write OTLP bytes into a stream, and keep the order of the items.
// The decoders produce OTLP bytes from a stream. Both are faster than conversions through
// pdata.

// ofBytes returns the encoder of a signal. The encoder uses only the OTLP bytes of a batch, so the
// batch needs no pdata.
func ofBytes[W signal.Writer, E interface {
	EncodeOTLP([]byte) error
	Losses() stefotlp.Losses
}](newWriter func(io.Writer, ...stef.WriterOption) (W, error), newEncoder func(W) E) bytesEncoder {
	return func(out io.Writer, opts []stef.WriterOption) (encoder, error) {
		w, err := newWriter(out, opts...)
		if err != nil {
			return nil, err
		}
		e := newEncoder(w)
		return &batchEncoder{w, func(b otlpfile.Batch) error { return e.EncodeOTLP(b.OTLP) }, e.Losses}, nil
	}
}

// decodedBytes is the size at which a message of OTLP ends. A record takes at most 32 MiB, so the
// message is not larger than a part that otlpfile.Writer writes.
const decodedBytes = 120 << 20

// toBytes returns the decoder of a signal. Its batches have only OTLP bytes, which are valid until
// the next batch. A batch has the items of one frame, unless its message would have more than
// decodedBytes: readers do not accept messages of any size, and a frame with many repetitions would
// exhaust the memory.
func toBytes[R signal.Reader, D interface {
	AppendOTLP([]byte) ([]byte, error)
}](s otlpfile.Signal, newReader func(io.Reader, ...stef.ReaderOption) (R, error), newDecoder func(R, ...stefotlp.DecoderOption) D) bytesDecoder {
	return func(in io.Reader, opts []stef.ReaderOption) (decoder, error) {
		r, err := newReader(in, opts...)
		if err != nil {
			return nil, err
		}
		d := newDecoder(r, stefotlp.WithMaxItems(math.MaxInt32), stefotlp.WithMaxBytes(decodedBytes))
		var message []byte
		return &batchDecoder{func() (_ otlpfile.Batch, err error) {
			message, err = d.AppendOTLP(message[:0])
			return otlpfile.Batch{Signal: s, OTLP: message}, err
		}, r.Stats}, nil
	}
}
