// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpfile reads and writes OTLP in files, batch by batch, for the
// command line tool, tests and benchmarks.
//
// There are three formats, each for metrics, traces or logs:
//
//	otlp-parts  parts, one after another; each part is the length of a protobuf
//	            message, as big-endian uint32, and the message
//	otlp        one protobuf message: MetricsData, TracesData or LogsData
//	otlp-json   JSON messages, one or several, as the Collector's file exporter
//	            writes them one per line; line breaks inside a message are valid
//
// A file of any format may be compressed with zstd or gzip. A reader recognises the
// compression by the first bytes. It recognises format and signal by the content,
// unless the caller specifies them:
//
//	r, err := otlpfile.Open(f, otlpfile.FormatUnknown, otlpfile.SignalUnknown, otlpfile.WithName(path))
//	for {
//		b, err := r.Next()
//		if err == io.EOF {
//			break
//		}
//		// b.Metrics, b.Traces or b.Logs, as r.Signal() says
//	}
//
// A Batch is a part or a JSON message. A file that consists of one protobuf message may
// be larger than memory: the reader splits it into batches, each with as many entries
// as fit the batch size. If a writer of format otlp writes these batches, the file has
// one message again, because protobuf messages with repeated fields may be concatenated.
//
// A truncated file, and any other damage that would silently lose data, cause an
// *Error with the part, the line and the byte. Unknown fields are not an error, as
// the protocol requires; Reader.Unknown has the unknown fields of JSON. A file of
// JSON or of parts may hold messages of several signals if the reader is opened for
// one of these signals with the option WithOtherSignals. The reader then counts the
// items that it skips.
package otlpfile
