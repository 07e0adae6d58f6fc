// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
)

// insertConcurrently is a handler that inserts batches of rows on several goroutines. It acknowledges
// each batch when its insert has ended, in any order, and returns after all inserts.
func (d *database) insertConcurrently(s *stefgrpc.ServerStream) error {
	r, err := otelstef.NewMetricsReader(s, limited(s)...)
	if err != nil {
		return err
	}
	defer r.Close()
	var inserts sync.WaitGroup
	slots := make(chan struct{}, 4) // bounds the concurrent inserts; with maxRows it bounds the memory
	failed := make(chan error, 1)
	var rows []string
	first := uint64(1) // the record of rows[0]
	insert := func() {
		batch, from, to := rows, first, first+uint64(len(rows))-1
		rows, first = nil, to+1
		s.Decoded(to)
		slots <- struct{}{}
		inserts.Go(func() {
			defer func() { <-slots }()
			if err := d.insert(batch); err != nil {
				select {
				case failed <- err:
				default: // the channel has an earlier error
				}
				s.StopReading() // Next returns false soon
				return
			}
			s.Ack(from, to)
		})
	}
	for r.Next() {
		rows = append(rows, r.Record().Metric().Name()) // a copy: Next changes the record
		if r.BufferedRecords() == 0 || len(rows) == maxRows {
			insert()
		}
	}
	if len(rows) > 0 { // the records of the frame before one that cannot be read
		insert()
	}
	inserts.Wait() // the stream ends when the handler returns; Ack must not be called later
	select {
	case err := <-failed:
		return err // UNAVAILABLE: the client sends the unacknowledged batches again
	default:
		return r.Err()
	}
}

// A server inserts batches on several goroutines.
func ExampleServerStream_Ack() {
	db := &database{}
	server, err := stefgrpc.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	err = server.Handle(otelstef.MetricsCompactRoot(), stefgrpc.HandlerFunc(db.insertConcurrently))
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

	sendExample(listener.Addr().String())

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	g.GracefulStop()
	fmt.Printf("%q stored, %d acknowledged\n", db.rows, server.Stats().AckedRecords)
	// Output:
	// ["requests" "errors" ""] stored, 3 acknowledged
}
