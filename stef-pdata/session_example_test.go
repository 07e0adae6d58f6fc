// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// batchWriter writes the logs of one stream of a session. Writers of metrics and traces differ
// only in their types.
type batchWriter struct {
	*otelstef.LogsWriter // has Flush, BufferedBytes and Close
	encoder              *stefpdata.LogsEncoder
}

func newBatchWriter(s *stefgrpc.Stream) (stefgrpc.BatchWriter[plog.Logs], error) {
	w, err := otelstef.NewLogsWriter(s, append(s.WriterOptions(), stef.WithCompression(stef.Zstd))...)
	if err != nil {
		return nil, err
	}
	return batchWriter{w, stefpdata.NewLogsEncoder(w)}, nil
}

// WriteBatch returns ItemErrors unchanged: the session delivers the other items.
func (b batchWriter) WriteBatch(ld plog.Logs) (last uint64, err error) {
	err = b.encoder.Encode(ld)
	return b.Stats().Records, err
}

// A program sends logs as pdata for as long as it runs. A log record that exceeds a limit is
// omitted, and all other log records are delivered.
func ExampleLogsEncoder_session() {
	address, stop := serveLogs() // a server in this process: see the example of LogsDecoder
	defer stop()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn)
	if err != nil {
		log.Fatal(err)
	}
	session, err := stefgrpc.NewSession(func(ctx context.Context) (*stefgrpc.Stream, error) {
		return client.Open(ctx, otelstef.LogsCompactRoot())
	}, newBatchWriter, stefgrpc.SessionConfig{})
	if err != nil {
		log.Fatal(err)
	}

	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	records.AppendEmpty().Body().SetStr("started")
	wide := records.AppendEmpty()
	for i := range 1200 { // more attributes than a record can have
		wide.Attributes().PutInt(fmt.Sprint("key", i), 1)
	}
	records.AppendEmpty().Body().SetStr("ready")

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = session.Send(ctx, ld)
	var part *stefgrpc.BatchError
	var left stefpdata.ItemErrors
	switch {
	case err == nil:
		fmt.Println("delivered")
	case errors.As(err, &part) && part.Delivered && errors.As(err, &left):
		fmt.Printf("delivered except %d; log record %d of its scope: %v\n", left.Items(), left[0].Item, left[0].Err)
	default:
		fmt.Println(err) // ExampleSession of stefgrpc shows all cases
	}
	fmt.Println("shutdown:", session.Shutdown(ctx))
	// Output:
	// the server has "started"
	// the server has "ready"
	// delivered except 1; log record 1 of its scope: limit exceeded: there are 1200 attributes, at most 1023 are allowed
	// shutdown: <nil>
}

// serveLogs prints the bodies of log records.
func serveLogs() (address string, stop func()) {
	server, err := stefgrpc.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	err = server.Handle(otelstef.LogsCompactRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewLogsReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			body, _ := r.Record().Record().Body().Text() // plain text, or a template with its parameters
			fmt.Printf("the server has %q\n", body)
			s.AckUpTo(r.Stats().Records)
		}
		return r.Err()
	}))
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	g := grpc.NewServer()
	server.Register(g)
	go func() { _ = g.Serve(listener) }()
	return listener.Addr().String(), g.Stop
}
