// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/rotate"
	"github.com/otelstef/stef/stef-gogrpc"
)

// files receives the records of all streams. It is safe for use by several handlers at once.
type files = rotate.Writer[*otelstef.MetricsWriter]

// store writes the records of a stream and acknowledges the records that are in the file.
func store(out *files, s *stefgrpc.ServerStream) error {
	r, err := otelstef.NewMetricsReader(s, limited(s)...)
	if err != nil {
		return err
	}
	defer r.Close()
	// Handlers share the Writer, so while Write calls a function, other handlers wait. In this
	// function, do not call Next or s.Reject, which may wait for the client. If BufferedRecords is not
	// 0, Next does not wait.
	for r.Next() {
		err := out.Write(func(w *otelstef.MetricsWriter) error {
			for {
				w.Record().CopyFrom(r.Record())
				if err := w.Write(); err != nil {
					return err
				}
				if r.BufferedRecords() == 0 || !r.Next() {
					return nil
				}
			}
		})
		if err != nil {
			return err // UNAVAILABLE: the client sends the records again
		}
		s.AckUpTo(r.Stats().Records)
	}
	return r.Err()
}

// This server writes the records of all clients to files, with one Writer. Before Write returns, it
// passes the records to the operating system. With rotate.SyncFlush, Write also waits until the
// records are on the disk.
func ExampleServer_files() {
	dir, err := os.MkdirTemp("", "telemetry")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	out, err := rotate.New(rotate.Options{Dir: dir, Signal: "metrics", OnError: func(err error) { log.Print(err) }},
		func(dst io.Writer) (*otelstef.MetricsWriter, error) {
			return otelstef.NewMetricsWriter(dst, stef.WithCompression(stef.Zstd), otelstef.CompactMetrics())
		})
	if err != nil {
		log.Fatal(err)
	}
	server, err := stefgrpc.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	err = server.Handle(otelstef.MetricsCompactRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		return store(out, s)
	}))
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	g := grpc.NewServer(fromCollectors())
	server.Register(g)
	go func() { _ = g.Serve(listener) }()

	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() { sendExample(listener.Addr().String()) })
	}
	clients.Wait()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	g.GracefulStop()
	if err := out.Close(); err != nil { // after the handlers
		log.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*-metrics"+rotate.Suffix))
	fmt.Println(server.Stats().AckedRecords, "acknowledged;", out.Stats().Records, "in", len(names), "file")
	// Output: 12 acknowledged; 12 in 1 file
}
