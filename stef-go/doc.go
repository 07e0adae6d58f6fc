// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stef is the Go library of STEF (Sequential Tabular Encoding Format): a
// compact format for streams of records of one schema. This package defines what all
// programs use: options, flags, limits and errors. The program stefc generates the Go
// code of records, writers and readers from a schema; package otelstef has those of
// OpenTelemetry.
//
//	w, err := otelstef.NewMetricsWriter(file, stef.WithCompression(stef.Zstd))
//	rec := w.Record()                       // owned by w
//	rec.EditMetric().SetName("http.requests")
//	rec.Point().SetTimestamp(now)
//	rec.Point().Value().SetInt64(1)
//	err = w.Write()                         // and so on: set what changes, Write
//	err = w.Close()
//
//	r, err := otelstef.NewMetricsReader(file)
//	for r.Next() {
//		use(r.Record())                 // valid until the next Next
//	}
//	err = r.Err()                           // nil at a clean end
//
// # Records
//
// A writer has one record, which it uses for the whole stream. The record keeps its
// contents from one Write to the next, so a program sets only what changed, and only
// what changed is written. A reader also has one record, which Next changes; callers
// must not change it. A field F of a record is one of these:
//
//   - a number, a boolean, text: F returns it and SetF sets it. The getter of a text
//     String is Str, because String prints a whole value. Callers may keep
//     the text of a reader, except after NextBorrowing of otelstef.LogsReader. A text
//     shares up to 16 KiB of memory with other texts, so clone text that you keep for
//     long (strings.Clone);
//   - bytes: F returns memory of the record, valid until the field changes, and
//     SetF copies;
//   - a struct, oneof, multimap or array: F returns a pointer; change the value through
//     it. The pointer stays the same for the life of the record. In a oneof only the
//     getter of the chosen value returns a pointer: the getters of the other choices
//     return nil or zero. All getters of such a nil pointer also return nil or zero;
//   - optional: HasF and UnsetF exist, too. A primitive also has SetOptionalF, and F returns
//     the zero value if it is absent. A composite value has AddF, which makes it
//     present. While it is absent, F may return the value of an earlier record, or nil
//     if the type contains itself, and changes of this value are not written;
//   - a dictionary struct: see below.
//
// A setter stores its text without copying it, and the record keeps this text until it
// is replaced. So the text must not alias memory that the program reuses. Dictionaries
// copy the text that they keep.
//
// Modified returns a set of bits: the fields of a value that may have changed. A field
// without its bit did not change; a field with its bit may have an equal value. In a writer's
// record these are the changes since the last Write, in a reader's record the
// changes that the last Next made. The bits of an inner value are valid only if its
// field is also modified in the outer value; a value that was not touched keeps its
// old bits, and the bits of a shared value (see below) mean nothing. A consumer that
// checks Modified can skip the work for unchanged fields.
//
// # Shared values
//
// The values of a dictionary struct, such as a Resource, are written once and
// referred to afterwards. A record holds them by pointer. SetF makes its argument a
// shared value: it must never change again, and its setters panic from then on. The
// benefit is speed: setting the value that was written last is not a change, and setting
// a value that was written earlier does not compare its contents. If the argument belongs
// to another record and is not shared, SetF makes a shared copy of it. EditF returns a
// value that can be changed: a copy if the present value is shared. Call EditF to
// change a value and F to read it. The dictionary structs in a reader's record are
// shared: callers may keep them, and set them in a writer's record. A dictionary struct
// that the stream has not set yet is empty and not shared.
//
// A shared value can be set in the records of several writers, if all of them run in
// one goroutine. Writers of different goroutines would cause a data race, because each
// writer stores its dictionary reference in the shared value. CopyFrom shares
// these values, too. So before you pass a copy of a record to a goroutine with another
// writer, call Unshare: it replaces shared values by copies at any depth, also in structs,
// lists, oneofs and multimaps. The other writer compares their contents.
//
//	c := otelstef.NewMetrics()
//	c.CopyFrom(r.Record())
//	c.Unshare()
//	records <- c
//
// Each generated struct, oneof and multimap that can contain shared values has Unshare.
//
// Several goroutines may use one writer in turn, under a lock or with package rotate. They may
// copy records of their own readers to the record of this writer without Unshare. This is safe
// if no other writer receives the shared values, and if no goroutine calls Modified of a shared
// value.
//
// # Streams
//
// Records are sent in frames. A frame ends when it reaches the size of
// WithFrameBytes, when the dictionaries reach the size of WithDictBytes, and at
// Flush. Readers can then read everything up to the end of the frame. The writer
// calls Write of the destination once for every header and every frame. The same
// records with the same options produce the same bytes.
//
// Readers return the records of frames that arrived completely. A stream may end after
// the headers and after any frame. If it ends within a frame, as in the file of a killed
// program, the reader returns an error that wraps io.ErrUnexpectedEOF. A writer cannot
// continue the stream of another writer, and a file holds one stream: after a crash
// begin another file, as package rotate does.
//
// Frames have checksums only if the writer has WithChecksums, which needs zstd. Without
// checksums readers often do not detect a changed byte. Records then have wrong values,
// even records that Next returned before an error. Use checksums for files that are
// kept, and write large frames: checksums make small frames larger, see WithChecksums.
//
// Writers can write an older schema (WithSchema). Readers read an older schema if the stream
// announces it (WithSchemaHeader), and refuse a newer one. If a stream announces no schema, readers
// assume the schema that was passed to stefc as -base, by default their own. A writer refuses a
// record with a multimap that is too long for the format, or with more text than a frame holds, and
// can continue.
//
// A writer does not check the limits of readers. It returns no error for values nested
// deeper than Depth, for arrays and multimaps of a record that need more memory than
// RecordBytes, or for texts that need more memory in the dictionaries than DictBytes. A
// text in a dictionary struct can count twice for DictBytes: a reader with the default
// Limits refuses a Resource with an attribute of 33 MiB. Check all three before writing
// untrusted data, or raise the limits of the readers. All readers are strict and bounded
// by Limits, and report where a stream is wrong (FormatError). Nothing here starts
// goroutines, logs, or panics on input.
//
// # Iteration, errors and zero values
//
// All packages of this module that read or write records follow these rules:
//
//   - Iterate over a stream with Next until it returns false, then call Err. It returns
//     nil at a clean end. Records that Next returned before an error are those that were
//     written, with two exceptions: a byte without a checksum was changed, or the reader
//     assumes another root or schema than the writer used. A stream names neither. With
//     WithChecksums, all bytes of a frame except its header have a checksum. The headers
//     of the stream never have one. The end is final: Next does not check again whether
//     a file has grown (package rotate finds the end of a file that is being written).
//     bufio.Scanner and arrow-go's array.RecordReader work like this. parquet-go fills a
//     slice and returns io.EOF with the last rows; here a record is one value that changes
//     in place, so there is no slice to fill.
//   - Iterate over what a record contains with All, or by Len and an index.
//   - A function that writes returns one error. After ErrLimit of a record the writer
//     continues; after any other error it returns that error again. klauspost/compress/zstd
//     behaves the same with errors of the destination.
//   - Options are functions named With, as in zstd and arrow-go; parquet-go has structs
//     and functions. An option that is nil or whose value is out of range is
//     an error of the constructor, never a panic. A field of a struct that is 0 takes its default.
//   - Names of sizes in bytes end in Bytes: DictBytes, WithDictBytes, Limits.DictBytes.
//   - A Root is a *schema.Struct, the struct of the records with its fields; a Schema is
//     a schema.WireSchema, the counts of the fields that a stream has. Stats are counts since
//     the start of the stream.
//   - Mistakes in the code of the caller panic, as in package slices: an index
//     out of range, a negative length, a nil shared value, a change of a shared value,
//     a nil argument of CopyFrom and Equal, of a function of package schema, or of a
//     constructor that returns no error, such as those of package stefpdata.
//   - Writers, readers, encoders, decoders and the records of a root are created by their
//     constructors: their zero values cannot be used.
//
// # How the code is built
//
// All code runs at one of four frequencies. The frequency determines what the code may use:
//
//	runs per  time                     may use                           packages
//	value     about 1 ns per field     leaf methods that are inlined     bitio, codec
//	record    about 100 ns per record  generated straight-line code      otelstef, stefrt
//	frame     one flush                interfaces, loops over columns,   stefrt, column,
//	                                   zstd, errors with a location      internal/frame
//	stream    one writer or reader     options                           stef
//
// Code that runs per value or per record allocates nothing in steady state. The
// specification is in the folder stef-spec; comments cite it as "spec: #anchor".
// Package dynamic is a second, slow and simple implementation of the whole format.
// Tests compare the fast implementation with it.
package stef
