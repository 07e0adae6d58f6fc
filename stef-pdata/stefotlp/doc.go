// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefotlp turns OTLP messages, as the bytes of protobuf, into streams of
// STEF and back, for metrics, traces and logs, without building pdata in between.
// Use it in gateways, backends and file tools, which have OTLP as bytes: it takes a
// quarter of the time of unmarshalling and encoding pdata. Use package stefpdata in
// programs that have pdata.
//
//	w, err := otelstef.NewMetricsWriter(conn, stef.WithCompression(stef.Zstd))
//	e := stefotlp.NewMetricsEncoder(w)
//	err = e.EncodeOTLP(message)             // a MetricsData, as often as you like
//	err = w.Flush()
//
//	r, err := otelstef.NewMetricsReader(conn)
//	d := stefotlp.NewMetricsDecoder(r)
//	message, err := d.AppendOTLP(nil)       // one MetricsData a frame, then io.EOF
//
// The messages are MetricsData, TracesData and LogsData. The requests of the
// export services are the same on the wire.
//
// # Mapping
//
// The mapping is that of the specification, and the records are those that
// package stefpdata writes in its mode "ordered": items and attributes stay in
// their order. Only log records may differ in form: a text body goes out as it is
// and never as a template, and the observed time never as the distance to the
// time. Streams are a little larger for it and written much faster. The decoders
// read all forms.
//
// Protobuf can say a thing in several ways, and an encoder takes all of them:
// fields in any order, numbers in more bytes than they need, packed or not,
// messages in pieces. Where a field that should be single comes again, the last
// counts, and where a message does, its pieces are put together, as pdata does it.
//
// What a decoder appends is protobuf, but not the shortest there is: lengths of
// items and containers may be padded.
//
// # Errors
//
// A message in which a resource is cut off is refused as a whole, with a
// WireError. What is damaged further inside, exceeds a limit (MaxDepth,
// MaxItemBytes, stef.MaxPairs) or has an id of a wrong length is left out, an item
// or a container with all of its items, and reported in ItemErrors; the rest is
// written. Records that say what OTLP cannot say are left out by the decoders and
// reported in RecordErrors.
//
// # Losses
//
// What does not come back after OTLP, STEF, OTLP in the full schema:
//
//	resources, scopes and metrics without items       STEF has only items
//	borders between adjacent equal containers         containers are part of items
//	ids of zeros, which come back unset               they mean the same in OTLP, and
//	                                                  readers of STEF have to take them so
//	ids of other lengths than 16 and 8 bytes          refused: no reader of OTLP takes them
//	unset messages, which are the same as empty ones  the schema does not tell them apart
//	unknown fields                                    the schema has no place for them
//	keys and texts by reference (key_strindex)        only profiles have the table
//	the deprecated field 1000 of resources            pdata ignores it too
//
// The published schema loses more, as the specification tells. The encoders count
// losses in Losses.
//
// # How it works
//
// The encoders parse straight into the record of the writer, and do no work for
// what repeats: an attribute whose bytes are those of the item before is skipped
// by comparing them, and a resource, scope or metric that was seen before is found
// by its bytes and set by pointer. Attributes that were seen lately are found by
// their bytes as well, together with the references that the dictionaries of the
// stream have to them. What was found good once is not checked again.
// The decoders append straight from the record, and copy the encoded attributes
// of the record before where they are unchanged. Text bodies are copied once, from
// the memory of the reader into the message.
//
// Measured times are in benchmarks/converters.md.
//
// spec: #otlp-mapping
package stefotlp
