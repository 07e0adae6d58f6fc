// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stef is the Go library of STEF (Sequential Tabular Encoding Format):
// a compact format for streams of records of one schema. This package holds
// the words that all of its users write: options, flags, limits, errors. The
// records themselves, with their writers and readers, are Go code made from a
// schema by stefc; those of OpenTelemetry are package otelstef.
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
// A writer has one record for its life. It keeps its contents from one Write
// to the next, so a program sets only what changed, and only what changed is
// written. A reader has one record too, which Next changes; it must not be
// changed by anybody else. A field of a record is
//
//   - a number, a boolean, text: F returns it and SetF sets it;
//   - bytes: F returns memory of the record, to be read until it changes, and
//     SetF copies;
//   - a struct, oneof, multimap or array: F returns a pointer to change it by,
//     which stays the same for the life of the record;
//   - optional: HasF, UnsetF and SetOptionalF besides, or AddF for composites;
//   - a dictionary struct: see below.
//
// Text that is given to a record is kept by it until other text takes its place.
// It must not alias memory that is used again. Dictionaries copy what they keep.
//
// Modified returns which fields of a value changed, as a set of bits: in a
// writer's record since it was last written, in a reader's record with the
// record that was read. It tells of a value inside of another only if the
// field of the other is modified, too; a value that was not touched keeps what
// it told before; a shared value (see below) tells nothing. A consumer that asks
// for Modified can skip the work for what is the same as in the record before.
//
// # Shared values
//
// The values of a dictionary struct, such as a Resource, are written once and
// referred to afterwards. A record holds them by pointer. SetF makes the value
// it is given a shared one: it is never to be changed again, by anybody, and
// its setters panic from then on. In return, setting the value that was written
// last is no change at all, and setting one that was written before takes no
// look at its contents. A value that is part of another record, and so neither
// free nor shared, is copied. EditF returns a value that can be changed, as a
// copy if the present one is shared: call EditF to change a value and F to read it. The dictionary struct in a reader's record is shared: it can be kept,
// and set in a writer's record. A shared value can be set in the records of
// several writers, but not of writers used by different goroutines: a value remembers
// its reference in the last dictionary, so that would be a data race.
//
// # Streams
//
// Records go out in frames. A frame ends when it has the size WithFrameBytes
// set, when the dictionaries have grown to the size WithDictBytes set, and at
// Flush; everything up to it can then be read. The destination gets every
// header and every frame in one Write. Readers deliver the records of complete
// frames only; a stream may end before any frame, and ends in an error within
// one. The same records with the same options give the same bytes.
//
// Writers and readers can write and read in an older schema (WithSchema), and
// readers refuse a newer one. A writer refuses a record with a multimap that is
// too long for the format or with more text than a frame holds, and can go on. It does
// not refuse one that nests deeper than the Depth of readers: check the depth before
// writing untrusted data. All readers are strict and bounded by Limits, and
// say where a stream is wrong (FormatError). Nothing here starts goroutines,
// logs, or panics on what it reads.
//
// # Iteration, errors and zero values
//
// One rule each, followed by all packages of this module that read or write records:
//
//   - Iterate over a stream with Next until it returns false, then ask Err. It is nil
//     at a clean end. Records that Next returned before an error are good. bufio.Scanner
//     and arrow-go's array.RecordReader work like this. parquet-go fills a slice and
//     returns io.EOF with the last rows; here a record is one value that changes in
//     place, so there is no slice to fill.
//   - Iterate over what a record contains with All, or by Len and an index.
//   - A function that writes returns one error. After ErrLimit of a record the writer
//     goes on; after any other error it returns that error again. klauspost/compress/zstd
//     behaves the same with errors of the destination.
//   - Options are functions named With, as in zstd and arrow-go; parquet-go has structs
//     and functions. An option that is out of range or nil is an error of the
//     constructor, never a panic. A field of a struct that is 0 takes its default.
//   - Numbers of bytes end in Bytes: DictBytes, WithDictBytes, Limits.DictBytes.
//   - What the caller can only do wrong in its own code panics, as in slices: an index
//     out of range, a negative length, a nil shared value, a change of a shared value.
//
// # How the code is built
//
// Every line belongs to a tempo, which decides what it may use:
//
//	tempo   runs                     may use                             home
//	value   per field, about 1 ns    leaf methods that are inlined       bitio, codec
//	record  per record, about 20 ns  generated straight-line code        otelstef, stefrt
//	frame   per flush                interfaces, loops over columns,     stefrt, column,
//	                                 zstd, errors that say where         internal/frame
//	stream  per connection           options                             stef
//
// Value and record tempo allocate nothing in steady state. The specification
// is in the folder stef-spec; comments cite it as "spec: #anchor". Package
// dynamic is a second, slow and obvious implementation of all of it, which the
// tests hold the fast one against.
package stef
