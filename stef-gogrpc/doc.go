// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefgrpc carries STEF streams over gRPC: records go from a client to
// a server, acknowledgements come back. It knows nothing of OpenTelemetry; the
// records of any schema can be sent. Section 10 of stef-spec/specification.md
// is the protocol.
//
// # Model
//
// A gRPC stream carries one STEF stream. The n-th record of it has the id n;
// both ends count, and acknowledgements are ids.
//
//	client, err := stefgrpc.NewClient(conn)
//	s, err := client.Open(ctx, otelstef.MetricsSchema())
//	w, err := otelstef.NewMetricsWriter(s, s.WriterOptions()...)
//	rec := w.Record()                           // fill it, w.Write(), and so on
//	err = w.Flush()                             // now the records are on their way
//	err = s.AwaitAll(ctx)                       // now they are acknowledged
//	err = s.Drain(ctx)                          // the stream is over, all is well
//
// A Client opens streams on a connection, a Stream is the destination of one
// STEF writer. Opening asks the server which schema it reads and how large its
// dictionaries may get; Stream.WriterOptions tells the writer. A server with an
// older schema gets the fields it knows, a newer one gets all there are, and
// one with another schema altogether is an error of KindIncompatible.
//
// A Session is for senders that run for long. It keeps streams open, replaces
// them from time to time so that load can move between servers, replaces broken
// ones, and tells of each batch it is given how that ended. Most programs that
// send want a Session; a Stream is what it is made of.
//
// A Server has a Handler per root and gives it each stream as an io.Reader with
// methods to acknowledge and reject records.
//
// Addresses, TLS, credentials, interceptors, keepalive, load balancing and
// compression by gRPC are all options of the caller's grpc.ClientConn and
// grpc.Server; the examples show certificates of both ends and credentials per
// stream. STEF has a compression of its own (stef.WithCompression); compression
// by gRPC on top of it finds nothing to compress.
//
// # What is promised
//
// Delivery is at least once. A record that is acknowledged was accepted by the
// server's handler, or reported bad: Stream.Rejected and OnResponse tell which.
// When a stream ends before, nobody can know whether the records that are not
// acknowledged arrived. To send them again is right, twice is possible, and
// bad ones must be left out. Error.Retryable tells whether the peer would have
// them at all.
//
// # Ownership
//
// A chunk that is passed to Stream.WriteRecords is copied, and is the caller's
// again when the call returns.
//
// Connections, gRPC servers and contexts are the caller's. A Stream holds one
// goroutine until it ends: by Close, by the server, or with the connection.
//
// # Limits
//
// What a client has sent and the server has not acknowledged is bounded by
// WithMaxUnackedBytes: at the bound, writes wait. A write also waits while the
// server does not read, by gRPC's flow control. Both kinds of waiting end with
// the stream, and with a context where one is given. What a server says is
// bounded as well: by the receive limit of the connection, in what is remembered
// (see Stream.Rejected), and in time (WithHandshakeTimeout).
//
// A server bounds the bytes of a chunk, the bytes of all chunks, the number of
// streams, their dictionaries, and the time it waits for a client: for the first
// message, for the header, for the rest of a chunk, and between two chunks. See
// ServerOption; ServerStats counts the streams that a limit ended.
//
// # Errors
//
// Callers decide by the type of an error and by Error.Kind, never by its text:
//
//	*Error            from a peer, or about one; Kind says what to do, Code is the
//	                  gRPC status, RetryDelay the delay that the peer asked for
//	*UnsentError      Session.Send: the batch is the caller's again; wraps an *Error
//	*RejectedError    Session.Send: delivered except some records
//	*BatchError       Session.Send: the batch cannot be encoded
//	ErrSessionClosed  wrapped in an *UnsentError after Session.Shutdown
//	a context's error wrapped where a context ended the waiting
//
// Errors about options and configurations, and of Handle, are plain: they are
// mistakes of the program. Error.Retryable is the retry table of OTLP, the only
// one; the exporter uses it, too.
//
// # How the package is built
//
//	internal/wire       the messages of the protocol
//	internal/ledger     what each end knows about records; pure state
//	internal/session    the life of a sender; pure state
//	client, negotiate   opening a stream
//	stream, stream_end  the sending end of one stream
//	session             façade of the machine: Send, Shutdown, State
//	session_opener      a goroutine per place of a stream: opens and replaces it
//	session_sender      two goroutines per stream: encode and send; watch
//	session_decide      carries out what the machine decides
//	server, server_…    the receiving end
//
// A push passes Session.Send, Machine.Submit, sender.encode, the batch writer,
// Stream.WriteRecords; its acknowledgement passes Stream.respond, ledger.Sender,
// sender.answered, Machine.Answered and Session.settle.
//
// testdata, here and in internal/session, has conversations as text, which the
// tests play.
package stefgrpc
