// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// receiveLogs stores the logs of a stream. It rejects records that OTLP cannot express, and
// acknowledges all other records when they are stored.
func receiveLogs(s *stefgrpc.ServerStream, store func(plog.Logs) error) error {
	r, err := otelstef.NewLogsReader(s, s.ReaderOptions()...)
	if err != nil {
		return err
	}
	defer r.Close()
	d := stefpdata.NewLogsDecoder(r, stefpdata.WithMaxItems(10_000))
	for {
		ld, err := d.Decode()
		var bad stefpdata.RecordErrors
		if errors.As(err, &bad) {
			for _, record := range bad {
				s.Reject(record.First, record.Last) // the client must not send it again
			}
			err = nil
		}
		// If a record cannot be read, ld has the good records before it. They must be acknowledged
		// before the error is returned: the client drops the batch of the first record without an
		// answer, and this must be the batch of the bad record.
		if ld.LogRecordCount() > 0 {
			if err := store(ld); err != nil {
				return err // UNAVAILABLE: the client sends the records again
			}
		}
		s.AckUpTo(d.Records())
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A server receives the logs of Collectors as pdata.
func ExampleLogsDecoder_server() {
	store := func(ld plog.Logs) error {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, record := range sl.LogRecords().All() {
					fmt.Println(record.SeverityText(), record.Body().Str())
				}
			}
		}
		return nil
	}
	handler := func(s *stefgrpc.ServerStream) error { return receiveLogs(s, store) }

	server, err := stefgrpc.NewServer(stefgrpc.WithMaxStreams(1000))
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Handle(otelstef.LogsCompactRoot(), stefgrpc.HandlerFunc(handler)); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // Collectors expect port 4320
	if err != nil {
		log.Fatal(err)
	}
	// Exporters of Collectors send a keepalive every 30 s. By default, a gRPC server closes the
	// connection of an idle stream if keepalives have intervals below five minutes.
	g := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}))
	server.Register(g)
	go func() { _ = g.Serve(listener) }()
	defer g.Stop()

	sendLogs(listener.Addr().String(), "started", "ready")
	// Output:
	// INFO started
	// INFO ready
}

// sendLogs sends log records as a Collector does.
func sendLogs(address string, bodies ...string) {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, body := range bodies {
		record := records.AppendEmpty()
		record.SetSeverityText("INFO")
		record.Body().SetStr(body)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := client.Open(ctx, otelstef.LogsCompactRoot())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	w, err := otelstef.NewLogsWriter(s, append(s.WriterOptions(), stef.WithCompression(stef.Zstd))...)
	if err != nil {
		log.Fatal(err)
	}
	if err := stefpdata.NewLogsEncoder(w).Encode(ld); err != nil {
		log.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
	if err := s.Drain(ctx); err != nil {
		log.Fatal(err)
	}
}
