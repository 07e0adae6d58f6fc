// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package convert turns files of telemetry into files of another format: OTLP
// into STEF, STEF into OTLP, and each into itself with other settings.
//
//	out, err := convert.Run(in, w, convert.Options{To: convert.STEF, ...})
//
// OTLP comes and goes in batches, parts of the file. A batch in becomes a frame
// of the stream, or several where it is too large for one, and a frame becomes
// a batch out. From STEF to STEF records are copied, frame by frame, and keep
// their order.
//
// signals.go has the table of what can be converted; a new signal is an entry
// there.
package convert
