// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefotlp converts between OTLP protobuf bytes and STEF without
// building pdata in between, for metrics, traces and logs. It is for backends,
// gateways and tools that have bytes and want bytes; package stefpdata is for
// those who need pdata.
//
//	e := stefotlp.NewMetricsEncoder(w)      // w is an *otelstef.MetricsWriter
//	err := e.EncodeOTLP(message)            // a MetricsData message
//
//	d := stefotlp.NewMetricsDecoder(r)      // r is an *otelstef.MetricsReader
//	message, err = d.AppendOTLP(message[:0]) // what is buffered; io.EOF at the end
//
// Items go out in the order in which they come in. Bodies of logs are written
// as they are, not as templates. Encoders keep no reference to the message, and
// one encoder or decoder serves one stream; none is safe for use by several
// goroutines at once.
//
// The tests hold both directions against package stefpdata. What a stream does
// not carry is counted; see Losses.
package stefotlp
