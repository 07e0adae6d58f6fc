// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefgrpc carries STEF streams over gRPC: a client sends records to a
// server, and the server returns acknowledgements. The package does not depend on
// OpenTelemetry and sends records of any schema. Section 10 of
// stef-spec/specification.md defines the protocol.
//
// # Model
//
// A gRPC stream carries one STEF stream. The n-th record of the stream has the id
// n. Both ends count records, and acknowledgements contain ids.
//
//	client, err := stefgrpc.NewClient(conn)
//	s, err := client.Open(ctx, otelstef.MetricsRoot())
//	w, err := otelstef.NewMetricsWriter(s, s.WriterOptions()...)
//	rec := w.Record()                           // set its fields, call w.Write(), repeat
//	err = w.Flush()                             // sends the records
//	err = s.AwaitAll(ctx)                       // waits until they are acknowledged
//	err = s.Drain(ctx)                          // ends the stream
//
// Without Flush the last records are not sent, but AwaitAll and Drain still return
// nil: a Stream does not know which records its writer buffers.
//
// A Client opens streams on a connection. A Stream is the destination of one STEF
// writer. When a stream is opened, the server sends the schema it reads and the limit of
// its dictionaries; Stream.WriterOptions passes both to the writer. A server with
// an older schema receives the fields it knows. A server with a newer schema
// receives all fields. An end knows only how many fields each struct of its peer has. If these
// numbers show that neither schema is an older version of the other schema, Open returns an
// error of KindIncompatible. If the numbers of an unrelated schema fit by chance, the reader
// of the server refuses the records later, or reads wrong values.
//
// A Session is for long-running senders. It keeps streams open, replaces them from
// time to time so that load can move between servers, replaces broken streams, and
// reports the result of each batch. A batch that was not sent before its stream ended stays
// with the session, which sends it on the next stream. Most programs that send should use
// a Session. A Session needs a BatchWriter, which turns batches of the program into
// records. The following BatchWriter serves a Session[[]string] of log lines;
// ExampleSession has the rest of a program. If Write fails, its error contains the number of the
// record in the stream, and this WriteBatch adds the number of the item in the batch:
//
//	type lines struct{ *otelstef.LogsWriter } // has Flush and BufferedBytes
//
//	func newLines(s *stefgrpc.Stream) (stefgrpc.BatchWriter[[]string], error) {
//		w, err := otelstef.NewLogsWriter(s, append(s.WriterOptions(), stef.WithCompression(stef.Zstd))...)
//		return lines{w}, err
//	}
//
//	func (l lines) WriteBatch(batch []string) (last uint64, err error) {
//		var left []error
//		for i, text := range batch {
//			l.Record().Record().Body().SetString(text)
//			err := l.Write()
//			if errors.Is(err, stef.ErrLimit) {
//				left = append(left, fmt.Errorf("item %d of the batch: %w", i+1, err)) // only this record is not written
//			} else if err != nil {
//				return 0, err
//			}
//		}
//		return l.Stats().Records, stefgrpc.LeftOut(left...)
//	}
//
// If a record makes a frame too large (stef.ErrFrameTooLarge), its batch fails permanently. The
// session sends the other batches of the frame on another stream.
//
// A Server has one Handler per root. It passes each stream to the handler as an
// io.Reader with methods to acknowledge and reject records.
//
// The following files in stef-gogrpc have example programs, which go doc does not print. Some
// programs call functions of the other files, such as limited in server_example_test.go and
// serveExample in example_test.go:
//
//	session_example_test.go         sends with a Session
//	server_example_test.go          receives records and stores them
//	server_workers_example_test.go  processes them on several goroutines
//	server_files_example_test.go    writes them to files
//	server_auth_example_test.go     checks a token
//	receive_limit_example_test.go   bounds the memory of unfinished messages of unknown clients
//	example_test.go                 sends with a Stream; certificates at both ends, credentials per stream
//
// Addresses, TLS, credentials, interceptors, keepalive and load balancing are options
// of the caller's grpc.ClientConn and grpc.Server. Check tokens in a grpc.StreamInterceptor:
// clients then learn that the server refuses them before a stream opens. A server for the
// exporters of Collectors needs a grpc.KeepaliveEnforcementPolicy with a MinTime of at most
// 30 s: by default, gRPC closes the connection of an idle stream after three of their
// keepalives. STEF has its own compression
// (stef.WithCompression). A Server refuses streams whose messages gRPC compresses,
// because gRPC decompresses a message before any limit can count it. For trusted clients,
// WithCompressedMessages allows such streams. A gRPC server for unknown clients should have two
// limits. A ReceiveLimit bounds the memory of messages that clients begin and do not finish.
// grpc.MaxHeaderListSize bounds the headers of each stream, which gRPC keeps: by default, they can
// have up to 16 MiB.
//
// # The compact form
//
// Some roots, for example those of package otelstef, also have a compact form, which has a
// larger schema. A stream has the compact form if both ends use the compact root: client.Open(ctx,
// otelstef.MetricsCompactRoot()) and server.Handle(otelstef.MetricsCompactRoot(),
// handler). If one end uses otelstef.MetricsRoot(), the stream has the full form.
// The code that writes and reads records is the same. Do not append
// otelstef.CompactMetrics() or stef.WithSchema to Stream.WriterOptions to write more
// fields than the ends agreed on: the constructor of the writer then returns an *Error
// of KindIncompatible.
//
// # Guarantees
//
// Delivery is at least once. An acknowledgement means that the server's handler accepted
// the record or reported it as bad: Stream.Rejected and WithOnResponse list the bad records. If a
// stream ends early, it is unknown whether the unacknowledged records arrived. The sender should
// send them again, except the bad records. Records that had arrived then arrive twice.
// Error.Retryable reports whether a retry may succeed. A server cannot recognize records that are
// sent again: they arrive on another stream, with other ids. So if duplicates matter, the storage
// needs a key from the data, and must overwrite the entry that has the same key. For a span, use
// its trace id and span id; for a point, its series and timestamp. Log records have no such key.
//
// A frame over WithMaxChunkBytes, or over Limits.FrameBytes of the server's reader, ends the
// stream with KindLimit, and the handler gets no record of the frame. Neither end splits frames or
// batches. A Session returns the first batch of the frame as permanently failed, although the
// record that is too large may be in a later batch of the frame. The other batches are retryable.
// Each later frame with the large record fails, too, until the batch with this record is the first
// batch of a frame. Then this batch is lost, including its good records.
//
// # Ownership
//
// Stream.WriteRecords copies the chunk. The caller may reuse the chunk when the
// call returns.
//
// The caller owns connections, gRPC servers and contexts. A Stream has one goroutine until
// the stream ends. Close, the server or the loss of the connection ends the stream.
//
// # Limits
//
// WithMaxUnackedBytes bounds the data that a client has sent and the server has
// not acknowledged: at the bound, writes wait. A write also waits, by gRPC's flow
// control, while the server does not read. Both waits end when the stream ends. If the
// call has a context, they also end with the context. Data from the server is also bounded: in
// message size by the receive limit of the connection, in stored ids (see
// Stream.Rejected), and in time (WithHandshakeTimeout).
//
// A server bounds the bytes of a chunk, the bytes of all chunks, the number of
// streams, their dictionaries, and the time it waits for a client: for the first
// message, for the header, for the rest of a chunk, and between two chunks. See
// ServerOption. ServerStats counts the streams that a limit ended.
//
// # Errors
//
// Use the type of an error and Error.Kind to decide what to do, never its text:
//
//	*Error            from a peer, or about a peer; Kind says what to do, Code is the
//	                  gRPC status, RetryDelay the delay that the peer asked for
//	*UnsentError      Session.Send: the batch was returned to the caller; wraps an *Error
//	*RejectedError    Session.Send: all records were delivered except the bad records
//	*BatchError       Session.Send: the batch cannot be encoded; if Delivered is set, all of it
//	                  arrived except the part that Err names
//	ErrSessionClosed  wrapped in an *UnsentError after Session.Shutdown
//	context errors    wrapped by the error of a wait that a context ended
//
// Errors about options and configurations, and errors of Handle, are plain errors:
// they are mistakes in the program. Error.Retryable implements the retry table of OTLP.
//
// The text of an error of Open names the target of the connection and ends with the
// text of gRPC, which shows the mistake:
//
//	connection refused                     nothing listens there: check host and port;
//	                                       a target without a port uses port 443
//	first record does not look like a TLS  the client uses TLS and the server does not:
//	                                       insecure.NewCredentials
//	error reading server preface: EOF      the server uses TLS and the client does not:
//	                                       credentials.NewTLS
//	x509: certificate signed by unknown    the client does not know the certificate authority of the
//	authority                              server: tls.Config.RootCAs
//	broken pipe, certificate required      the server wants a client certificate:
//	                                       tls.Config.Certificates
//	http2: frame too large                 a server of HTTP/1 listens there
//	produced zero addresses                the host has no address
//	unknown service STEFDestination        a gRPC server without STEF: is this the port of OTLP?
//	grpc: Decompressor is not installed    the client has grpc.UseCompressor("gzip") and the server
//	for grpc-encoding "gzip"               cannot decompress it: remove the option, since STEF
//	                                       compresses its frames itself. A server that imports
//	                                       google.golang.org/grpc/encoding/gzip refuses the stream,
//	                                       too, unless it has WithCompressedMessages
//	grpc: Compressor is not installed      the client has grpc.UseCompressor and does not import
//	for requested grpc-encoding "gzip"     the compressor: remove the option
//
// # How the package is built
//
//	internal/wire       the messages of the protocol
//	internal/ledger     which records each end has sent, acknowledged and rejected;
//	                    state without I/O
//	internal/session    the state machine of a Session, without I/O
//	client, negotiate   opening a stream
//	stream, stream_end  the sending end of one stream
//	session             the API of a Session: Send, Shutdown, Stats
//	session_slot        a goroutine for each stream of a session: opens and replaces it
//	session_sender      two goroutines per stream: encode and send; watch
//	session_decide      carries out the decisions of the state machine
//	server, server_…    the receiving end
//
// A batch passes through Session.Send, Machine.Submit, sender.encode, the batch
// writer and Stream.WriteRecords. Its acknowledgement passes through
// Stream.respond, ledger.Sender, sender.answered, Machine.Answered and
// Session.settle.
//
// testdata, here and in internal/session, contains conversations as text. The
// tests replay them.
package stefgrpc
