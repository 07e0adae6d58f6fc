// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package convert converts files of telemetry between OTLP, STEF, Parquet and Arrow, and from a
// format to itself with other settings.
//
//	out, err := convert.Run(in, w, convert.Options{To: convert.STEF, ...})
//
// OTLP is read and written in batches, the parts of a file. An input batch
// becomes a frame of the stream, or several frames if it is too large. A frame
// becomes an output batch. From STEF to STEF, records are copied frame by frame
// and keep their order.
//
// signals.go has the table of conversions. To add a signal, add an entry there.
package convert
