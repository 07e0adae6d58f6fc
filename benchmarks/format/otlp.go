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

func (otlp) NewEncoder(otlpfile.Signal, bool) (Encoder, error) { return otlpEnd{}, nil }

func (otlp) NewDecoder(signal otlpfile.Signal, _ bool) (Decoder, error) { return otlpEnd{signal}, nil }

type otlpEnd struct{ signal otlpfile.Signal }

func (otlpEnd) Encode(b otlpfile.Batch) ([]byte, error)  { return dataset.Marshal(b) }
func (otlpEnd) Prepare(b otlpfile.Batch) (Native, error) { return b, nil }
func (otlpEnd) EncodeNative(n Native) ([]byte, error)    { return dataset.Marshal(n.(otlpfile.Batch)) }
func (otlpEnd) Close()                                   {}

func (e otlpEnd) Decode(message []byte) (otlpfile.Batch, error) {
	return dataset.Unmarshal(e.signal, message)
}

func (e otlpEnd) DecodeNative(message []byte) (int, error) {
	b, err := e.Decode(message)
	return b.Items(), err
}
