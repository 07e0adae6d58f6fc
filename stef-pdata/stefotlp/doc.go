// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefotlp converts OTLP messages in protobuf encoding into STEF streams and
// back, for metrics, traces and logs, without building pdata in between. Use it in
// gateways, backends and file tools, which have OTLP as bytes: it takes a quarter of
// the time of unmarshalling and encoding pdata. Use package stefpdata in programs
// that have pdata.
//
//	w, err := otelstef.NewMetricsWriter(conn, stef.WithCompression(stef.Zstd))
//	e := stefotlp.NewMetricsEncoder(w)
//	err = e.EncodeOTLP(message)             // a MetricsData, once for each message
//	err = w.Flush()
//
//	r, err := otelstef.NewMetricsReader(conn)
//	d := stefotlp.NewMetricsDecoder(r)
//	message, err := d.AppendOTLP(nil)       // one MetricsData for each frame, then io.EOF
//
// The messages are MetricsData, TracesData and LogsData. The requests of the
// export services are the same on the wire. A server acknowledges the Records of its
// decoder. The example in session_example_test.go, which go doc does not print, sends
// messages over gRPC, and answers the OTLP client of a gateway:
//
//	Send returned                             answer
//	nil                                       success
//	*BatchError with Delivered                success with partial_success: the omitted items
//	*RejectedError                            success with partial_success: the rejected records
//	both                                      success with partial_success: the sum
//	*BatchError without Delivered             INVALID_ARGUMENT, HTTP 400
//	*UnsentError with a retryable Cause       the status of Cause, HTTP 503 with Retry-After
//	*UnsentError with Refused set, KindAuth,  UNAVAILABLE, HTTP 503: the backend refuses the gateway,
//	KindUnimplemented or KindIncompatible     so the client must keep its data
//	*UnsentError with another Cause           INVALID_ARGUMENT, HTTP 400
//
// # Mapping
//
// The mapping follows the specification. Package stefpdata writes the same records in its mode
// "ordered": items and attributes keep their order. Only log records may differ in form: this
// package never writes a text body as a template, and never writes the observed time as its
// difference from the time. Therefore it writes streams of logs much faster than stefpdata, but the
// streams are a little larger. The decoders read all forms.
//
// Protobuf can encode the same content in several ways, and an encoder accepts all of
// them: fields in any order, numbers in more bytes than necessary, packed or not, and
// messages in pieces. If a single field occurs more than once, the last occurrence
// counts. If a message occurs more than once, its pieces are merged, as pdata does.
//
// The output of a decoder is valid protobuf, but not the shortest encoding: lengths
// of items and containers may be padded.
//
// # Errors
//
// A message in which a resource is truncated is rejected as a whole, with a WireError. A message
// of another signal is rejected, too, unless one of its items looks like an item of the encoder's
// signal: a gauge without a description can look like a span. The encoders omit an item that
// is damaged, exceeds a limit (200 nested arrays and maps, MaxDepth; 8 MiB, MaxItemBytes; 1023
// attributes in a list, stef.MaxPairs) or has an id of a wrong length. They report the item in
// ItemErrors and write all other items. A container with such a defect is omitted with all of its
// items. The decoders omit records that OTLP cannot express, and report them in RecordErrors.
//
// # Losses
//
// The conversion from OTLP to STEF and back loses the following in the full schema:
//
//	resources, scopes and metrics without items       STEF has only items
//	borders between adjacent equal containers         containers are part of items
//	ids of zeros, which are decoded as unset          they mean the same in OTLP, and
//	                                                  STEF readers must treat them so
//	ids of other lengths than 16 and 8 bytes          rejected, as all OTLP readers do
//	whether an empty message is set or unset          the schema does not distinguish this
//	unknown fields                                    the schema has no place for them
//	keys and texts by reference (key_strindex)        only profiles have the table of texts
//	the deprecated field 1000 of resources            it is read if it holds all scopes of its
//	                                                  resource, as pdata does for requests
//
// The published schema loses more; see the specification. The encoders count losses
// in Losses.
//
// # How it works
//
// The encoders parse directly into the record of the writer, and skip work for
// repeated content. An attribute with the same bytes as in the previous item is
// skipped after one comparison. A resource, scope or metric that was seen before is
// looked up by its bytes and set by pointer. Recently seen attributes are also looked
// up by their bytes, together with their references in the dictionaries of the
// stream. Content that passed a check is not checked again. The decoders append
// directly from the record, and copy the encoded attributes of the previous record if
// they are unchanged. Text bodies are copied once, from the memory of the reader into
// the message.
//
// Measured times are in benchmarks/converters.md.
//
// spec: #otlp-mapping
package stefotlp
