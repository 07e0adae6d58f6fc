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
// Bytes of the real metrics sets with zstd and default settings, in the full
// schema, as TestSizesOfSortedMetrics measures them:
//
//	                               sorted    bound
//	hipstershop, one batch         89,543   90,500
//	hostandcollector, 1407 batches 245,444  246,860
//	hostandcollector, one batch    76,583   80,470
//
// Spans are sorted by resource and scope, then by trace and start time, or by name
// first where traces have few spans, in chunks of some hundred spans. Bytes of the
// real set of 86,583 spans in one batch, as TestTracesSizes measures them:
//
//	hipstershop                    sorted     ordered
//	full schema                    3,471,221  5,513,974
//	full, zstd                     1,997,601  2,580,241
//	full, zstd of level better     1,751,873  2,376,444
//	published, zstd                2,092,809  2,617,512
//
// Of the real logs sets, a frame for each part, as TestSizesOfLogs measures them,
// beside the parts of OTLP with zstd. The default of logs is Ordered: what sorted
// logs lose, no time stamp can bring back. Their attributes stay in order in both.
//
//	               OTLP  ordered  share  bound   sorted
//	kafka       825,761  382,312  0.463   0.47  362,821
//	webnodes  1,055,320  662,940  0.628   0.64  638,461
//	cloudtrail  529,065  351,340  0.664   0.67  334,723
//	astronomy   558,406  268,330  0.481   0.51  264,677
//	k8sapps     812,541  493,648  0.608   0.61  492,494
//
// Text bodies of logs are taken apart into a template and parameters where
// templates return and are most of the text. It takes a fifth off the streams of kafka and k8sapps, and
// costs time; WithTemplates has the choice.
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
