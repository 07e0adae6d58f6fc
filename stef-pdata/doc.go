// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefpdata converts between pdata, the Collector's telemetry in memory,
// and STEF streams.
//
// An encoder writes batches to a record writer, which produces the stream. A flush ends a
// frame; if there were no items, it writes no frame. A decoder returns one frame at a time:
//
//	w, err := otelstef.NewMetricsWriter(dst, stef.WithCompression(stef.Zstd))
//	e := stefpdata.NewMetricsEncoder(w)
//	err = e.Encode(md) // once for each batch
//	err = w.Flush()
//
//	r, err := otelstef.NewMetricsReader(src)
//	d := stefpdata.NewMetricsDecoder(r)
//	md, err := d.Decode() // until io.EOF
//
// The example of LogsDecoder, in server_example_test.go, is a server that receives pdata from
// Collectors, with package stefgrpc. The example of LogsEncoder, in session_example_test.go, is a
// program that sends pdata in a stefgrpc.Session.
//
// # Model
//
// Each data point, span or log record is one record of the stream. Its resource,
// scope and metric are shared values of the record. A writer sends only what differs
// from the previous record. Resources, scopes and metrics are called containers. An
// encoder keeps the containers that it has seen. It first compares the next container with
// the container that is most likely to follow, and rarely converts a container again. A
// decoder begins a new container where the content changes.
//
// # Modes
//
// Ordered keeps the order of items and of attributes. Sorted puts items in an order
// that makes the stream small, and sorts attributes by key; attributes with equal
// keys keep their order. Attributes within values are not sorted. Both modes merge
// containers of equal content that become neighbours. The output is reproducible: it
// depends only on the batch and on the stream before the batch.
//
// An UnsentError or RejectedError of package stefgrpc contains positions of records. In mode
// Ordered, these are the positions of items in the batch, if the encoder returned no ItemErrors.
// Otherwise send the whole batch again, or report only the number of records.
//
// Points are sorted by metric, attributes, start time, resource, scope and time, or by time first
// if hardly any series has several points. A decoder begins a container where the content changes.
// If this order would cause many more containers than the batch has, points are sorted by resource
// and scope first. For the recordings of the repository, OTLP that a decoder makes from a
// sorted stream takes at most 1 % more bytes than the original.
//
// Spans are sorted by resource and scope, then by trace and start time. If traces
// have few spans, the name is compared before the trace. Spans are sorted in chunks
// of some hundred spans. The default for logs is Ordered, because the original order of
// logs cannot be restored from their timestamps. Attributes of logs keep their order in
// both modes.
//
// Text bodies of logs are split into a template and parameters if templates repeat
// and make up most of the text. This makes compressed streams up to a third smaller,
// but costs time. In compressed streams the encoder estimates from samples whether templates
// save bytes, for each resource and scope. While templates do not save bytes, and in a small
// first batch, it writes bodies without templates. WithTemplates configures this.
//
// The file benchmarks/converters.md lists sizes and times for real data sets.
//
// # Ownership
//
// Encoders read batches and never change them. They keep only strings of the batches,
// which are immutable in Go. Callers own decoded batches.
// The strings of a decoded batch are shared with the dictionaries of the reader and
// share memory with other strings of the frame; clone a string before keeping it for
// long. The objects of a decoded batch are allocated in chunks of at most 4 KiB, and
// some chunks hold objects of several batches. Therefore copy an item (CopyTo) before
// keeping it for long without its batch.
//
// Encoders and decoders serve one stream, reuse their memory from batch to
// batch, and are not safe for concurrent use by several goroutines. The pools of an
// encoder are bounded: it empties them when they grow too large.
//
// Constructors and options panic if an argument is nil, or a constant is out of range:
// these are mistakes in the program. Encoders also panic if they get a zero pmetric.Metrics,
// ptrace.Traces or plog.Logs, as all methods of pdata do; make batches with NewMetrics, NewTraces
// and NewLogs.
//
// # Limits
//
// Every reader with the default limits accepts items within these limits: 1023 attributes in a
// list, 200 nested arrays and maps (MaxDepth), and 8 MiB (MaxItemBytes), in which a bucket or bound
// counts 32 bytes, and an attribute or nested value 256. An encoder omits an item that exceeds a
// limit, writes the other items, and reports the place of the item in ItemErrors.
//
// If Limits.FrameBytes of a reader is below the default, it must be at least the writer's frame
// size plus the size of one record: up to four times MaxItemBytes, for an item and a new
// resource, scope and metric. With the default frame size this is 36 MiB. A server of package
// stefgrpc accepts chunks of 16 MiB as sent, unless WithMaxChunkBytes sets another limit. If
// Limits.RecordBytes is 16 MiB, the reader accepts a record in which two of the four parts (item,
// resource, scope and metric) have MaxItemBytes each.
//
// A decoder omits a record with content that OTLP cannot express, converts the other
// records, and reports the number of the record in RecordErrors. Examples are numbers of more than
// 32 bits in fields where OTLP has 32 bits, ids of a wrong length, unknown types of metrics, and
// values that do not match the type of their metric. The numbers of buckets and bounds of a
// histogram are not compared: a decoder converts both as they are.
//
// # Losses
//
// In the full schema everything survives the round trip, except the order that the
// mode may change, the borders between neighbouring containers of equal content, and the
// following:
//
//	resources, scopes and metrics without items   records exist only for items
//	keys and texts by reference (key_strindex)    only profiles have the table of texts, and
//	                                              the pdata API does not expose the references
//
// The published schema, which the reference implementation uses, also lacks:
//
//	entity references of resources
//	flags of points other than "no recorded value"
//	the value of points with that flag; exponential histograms lose the flag instead
//	number points without value and flag: they are decoded with the flag
//	numbers of dropped events and links of spans
//
// Records of other writers may contain more than pdata can represent. Decoders drop the
// following without an error, because this content says nothing about the telemetry:
//
//	envelopes, and user data of the stream's header
//	temporality of gauges and summaries
//	monotonicity of metrics other than sums, bounds of metrics other than histograms
//	exemplars of summaries
//	whether an id that is not set was absent or all zeros, and whether an id was text
//
// Losses counts this content. If a schema has fewer fields than the published schema, the content
// of the missing fields is lost, too; Losses does not count it.
package stefpdata
