// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package rotate writes records to files that rotate by size and age, for programs
// that leave their telemetry on disk for a follower, such as the steffile receiver of
// the Collector.
//
//	w, err := rotate.New(rotate.Options{Dir: "telemetry", Signal: "traces"},
//		func(dst io.Writer) (*otelstef.SpansWriter, error) {
//			return otelstef.NewSpansWriter(dst, stef.WithCompression(stef.Zstd), otelstef.CompactSpans())
//		})
//	...
//	err = w.Write(func(s *otelstef.SpansWriter) error {
//		... // set s.Record(), then s.Write(), for each span of a batch
//	})
//
// The examples in example_test.go are whole programs, for spans and for log records;
// server_files_example_test.go of package stefgrpc is a server. For records of a schema
// of your own, choose a Signal, such as the name of the root. The files need the schema
// header, so that later versions of the code can read them. The package shop is the
// package that the README of stefc generates:
//
//	w, err := rotate.New(rotate.Options{Dir: "data", Prefix: "shop", Signal: "orders"},
//		func(dst io.Writer) (*shop.OrderWriter, error) {
//			return shop.NewOrderWriter(dst, stef.WithSchemaHeader(), stef.WithCompression(stef.Zstd))
//		})
//
// Use another Signal for each root: a stream does not name its root, but the name of a file has
// the signal.
//
// # Files
//
// Each file is a complete stream: headers, schema and frames. Its name is
//
//	PREFIX-TIME-PID-SEQUENCE-SIGNAL.stef
//	telemetry-20261122T101548.123456789Z-0001234-000001-traces.stef
//
// with the UTC time of its creation, so names with the same prefix sort by time. If the clock was
// set back, the time is 1 ns after that of the latest file. PREFIX is "telemetry" unless
// Options.Prefix is set, and SIGNAL is Options.Signal. While a file is written, its name has the
// suffix ActiveSuffix; the file is renamed when it is finished. A file is finished when it reaches
// Options.MaxBytes or Options.MaxAge, after an error, by Rotate and by Close. The first Write
// creates a file, before it calls fill; a file without records is removed when it would be finished.
//
// The record of a new file begins with the values of the last record, so a program may
// set fields once and then only those that change: see Stream. What a program keeps
// outside the record, such as a pointer that an Edit method returned, is valid for one
// file only.
//
// A killed process leaves an active file. The next New with the same folder, prefix and
// signal finishes it. If a crash left a part of the last frame, New truncates the file to
// its last whole frame. After a crash of the machine, the last whole frame can also be followed
// by zeros: New removes them, passes an *Error with their number to Options.OnError, and counts
// it in Stats. If other bytes that begin no frame follow, or if the headers of a file are damaged,
// New reports that in the same way and keeps the content: no reader reads beyond such bytes. New
// removes a file without whole frames of records. New does not decode frames: if the head of a
// frame is valid and its content is damaged, only readers of the file detect that.
//
// Other programs call Abandoned for the active files of a folder to find those of killed processes. Where the system has
// flock, a lock shows immediately whether a process still writes a file; elsewhere a file counts as
// abandoned when it was not modified for StaleAfter. Programs that write other files into such
// a folder lock them with Lock.
//
// # When records are safe
//
// A frame is one write to the file. What was flushed is readable after the process is
// killed, up to the last complete frame (type Frames finds its end). Write flushes
// before it returns unless Options.FlushInterval delays this. What a crash of the
// machine may lose depends on Options.Sync:
//
//	SyncInterval  what was written during the last Options.SyncEvery, 1 s by default
//	SyncFlush     nothing that was flushed; each flush waits for the disk
//	SyncNone      what the operating system has not written yet
//
// With SyncInterval and SyncFlush a file is synced before it is renamed.
//
// # Checksums
//
// With stef.WithChecksums readers notice bytes that the disk changed, but each frame is
// compressed alone. If each Write is a batch of 100 records, files are 1.04 to 9 times as
// large; with batches of 1,000 records, 1.006 to 12 times; of 10,000 records, 1.002 to 2.3 times.
// Files of repeating records grow most
// (go test -run '^$' -bench Checksums -benchtime 1x ./stef-go/rotate). Write large batches
// or set Options.FlushInterval.
//
// # Errors
//
// A full disk, missing permissions and other faults are returned as *Error and counted in
// Stats. They do not block callers: the Writer truncates the file to its last complete frame
// and finishes it. The next Write creates another file, and the folder if it is missing.
// Records that were not flushed are lost and counted. Only a call of the operating system
// that does not return can block a caller.
//
// Faults that happen between calls, for example in a delayed flush, are passed to
// Options.OnError. If the fault lost records that were not flushed before, the next Flush, Rotate
// or Close returns the error, too.
//
// Another process may remove the active file, or the folder. After each write, the Writer asks
// the system whether the file still has a name. So a Write or Flush during or after the removal
// does not return nil for records in a removed file: it returns an *Error, or the records are in
// a new file. The calls that wrote records before the removal have returned, so they cannot return
// the loss. The Writer detects the loss with a later Write, or when it finishes the file. It passes
// the error to Options.OnError, unless Rotate or Close returns it, and counts all records of the
// file as lost in Stats. On a network file system, and if the file was renamed, the Writer detects
// the change within a tenth of a second while it writes, and may return nil until then.
package rotate
