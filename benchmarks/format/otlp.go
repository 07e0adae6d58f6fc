// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
)

// OTLP is OTLP protobuf by the Collector's pdata.
func OTLP() Format { return otlp{} }

type otlp struct{}

func (otlp) Name() string { return "OTLP" }

func (otlp) Setup() string {
	return "ProtoMarshaler and ProtoUnmarshaler of the Collector's pdata, default feature gates; each batch is a message of its own"
}

func (otlp) Own() string                    { return "" }
func (otlp) Drops(s otlpfile.Signal) string { return zeroSigns(s) }
func (otlp) Stateful() bool                 { return false }

func (otlp) NewEncoder(otlpfile.Signal, bool) (Encoder, error) {
	return pdataEncoder(dataset.Marshal), nil
}

func (otlp) NewDecoder(signal otlpfile.Signal, _ bool) (Decoder, error) {
	return pdataDecoder(func(message []byte) (otlpfile.Batch, error) { return dataset.Unmarshal(signal, message) }), nil
}

// pdataEncoder is an encoder without state. The native form of its format is pdata.
type pdataEncoder func(otlpfile.Batch) ([]byte, error)

func (e pdataEncoder) Encode(b otlpfile.Batch) ([]byte, error) { return e(b) }
func (pdataEncoder) Prepare(b otlpfile.Batch) (Native, error)  { return b, nil }
func (e pdataEncoder) EncodeNative(n Native) ([]byte, error)   { return e(n.(otlpfile.Batch)) }
func (pdataEncoder) Close()                                    {}

// pdataDecoder is a decoder without state. The native form of its format is pdata.
type pdataDecoder func(message []byte) (otlpfile.Batch, error)

func (d pdataDecoder) Decode(message []byte) (otlpfile.Batch, error) { return d(message) }
func (pdataDecoder) Close()                                          {}

func (d pdataDecoder) DecodeNative(message []byte) (int, error) {
	b, err := d(message)
	return b.Items(), err
}
