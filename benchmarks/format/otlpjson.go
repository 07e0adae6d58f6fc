// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import "github.com/otelstef/stef/internal/otlpfile"

// OTLPJSON is the JSON form of OTLP by the Collector's pdata.
func OTLPJSON() Format { return otlpJSON{} }

type otlpJSON struct{}

func (otlpJSON) Name() string { return "OTLP/JSON" }

func (otlpJSON) Setup() string {
	return "JSONMarshaler and JSONUnmarshaler of the Collector's pdata, as its HTTP endpoints and its file exporter use them"
}

func (otlpJSON) Own() string { return "" }
func (otlpJSON) Drops(signal otlpfile.Signal) string {
	const nan = "payloads of NaN"
	if signs := zeroSigns(signal); signs != "" {
		return signs + "; " + nan
	}
	return nan
}
func (otlpJSON) Stateful() bool { return false }

func (otlpJSON) NewEncoder(otlpfile.Signal, bool) (Encoder, error) {
	return pdataEncoder(otlpfile.Batch.JSON), nil
}

func (otlpJSON) NewDecoder(signal otlpfile.Signal, _ bool) (Decoder, error) {
	return pdataDecoder(func(message []byte) (otlpfile.Batch, error) { return otlpfile.UnmarshalJSON(signal, message) }), nil
}
