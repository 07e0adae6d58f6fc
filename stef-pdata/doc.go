// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefpdata converts between pdata, the Collector's telemetry in memory,
// and STEF streams.
//
// An encoder writes batches to a writer of records, which makes the stream. A
// flush ends a frame, and a decoder gives back a frame at a time:
//
//	w, err := otelstef.NewMetricsWriter(dst, stef.WithCompression(stef.Zstd))
//	e := stefpdata.NewMetricsEncoder(w)
//	err = e.Encode(md) // as often as there are batches
//	err = w.Flush()
//
//	r, err := otelstef.NewMetricsReader(src)
//	d := stefpdata.NewMetricsDecoder(r)
//	md, err := d.Decode() // until io.EOF
//
// # Model
//
// Each data point, span or log record is a record of the stream, with its
// resource, scope and metric as shared values in it. A writer sends what differs
// from the record before. An encoder keeps the containers that it has seen, so
// that the next ones are compared with what is likely to come and are rarely
// converted again. A decoder opens a new container where the content changes.
//
// # Modes
//
// Ordered keeps the order of items and of attributes. Sorted puts items in the
// order that makes the stream small and orders attributes by key, those of equal
// keys staying in their order; attributes within values are left alone. Either
// mode merges containers of equal content that become neighbours. What is
// written depends on the batch and on the stream before it, never on chance.
//
// Spans are sorted by resource and scope, then by trace and start time, or by name
// first where traces have few spans, in chunks of some hundred spans. The default
// of logs is Ordered: what sorted logs lose, no time stamp can restore. Their
// attributes keep their order in both modes.
//
// Text bodies of logs are split into a template and parameters where templates
// repeat and are most of the text. That makes compressed streams up to a fifth
// smaller and costs time; WithTemplates sets it.
//
// Sizes and times of real sets are in benchmarks/converters.md.
//
// # Ownership
//
// Batches are read and never changed. Encoders keep strings of them, as Go
// strings are immutable, and nothing else. Decoded batches are the caller's;
// their strings are shared with the reader's dictionaries and share memory with
// others of the frame; clone one to keep it alone. Encoders and decoders
// serve one stream, reuse their memory from batch to batch, and are not safe for
// use by several goroutines at once. What an encoder remembers is bounded, and
// forgotten when it is too much.
//
// # Limits
//
// An item that exceeds what every reader accepts is left out and reported in
// ItemErrors with its place, and the others are written: 1023 attributes in a
// list, MaxDepth arrays and maps in one another, MaxItemBytes.
//
// A record that says what OTLP cannot is left out and reported in RecordErrors
// with its number, and the others are converted: numbers over 32 bits where OTLP
// has 32, ids of other lengths, unknown types of metrics, values that do not suit
// the type.
//
// # Losses
//
// In the full schema everything comes back, up to the order that the mode allows
// and the borders between neighbours of equal content, except:
//
//	resources, scopes and metrics without items   nothing holds them
//	keys and texts by reference (key_strindex)    only profiles have the table, and the
//	                                              interface of pdata does not show them
//
// The published schema, that of the reference implementation, also lacks:
//
//	entity references of resources
//	flags of points other than "no recorded value"
//	the value of points with that flag, of exponential histograms instead the flag
//	number points without value and flag: they come back with the flag
//	numbers of dropped events and links of spans
//
// Records of other writers may say more than pdata has places for. These are
// dropped without a word, as they say nothing about the telemetry:
//
//	envelopes, and user data of the stream's header
//	temporality of gauges and summaries
//	monotonicity of what is no sum, bounds of what is no histogram
//	exemplars of summaries
//	whether an id that is not set is absent or all zero, and whether it is text
//
// Losses counts what encoders lose. Schemas cut shorter than the published one
// lose what their missing fields would hold, which is not counted.
package stefpdata
