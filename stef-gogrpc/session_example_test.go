// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
)

// A reading is one measurement of this program. A batch is a slice of readings.
type reading struct {
	name  string
	value int64
}

type readingWriter struct{ *otelstef.MetricsWriter }

func newReadingWriter(s *stefgrpc.Stream) (stefgrpc.BatchWriter[[]reading], error) {
	w, err := otelstef.NewMetricsWriter(s, append(s.WriterOptions(), stef.WithCompression(stef.Zstd))...)
	if err != nil {
		return nil, err
	}
	return readingWriter{w}, nil
}

func (r readingWriter) WriteBatch(batch []reading) (uint64, error) {
	for _, x := range batch {
		if x.value < 0 { // refuse the batch before any record of it is written
			return r.Stats().Records, &stefgrpc.BatchError{Err: errors.New("a value below zero")}
		}
	}
	var left []error
	for i, x := range batch {
		r.Record().EditMetric().SetName(x.name)
		r.Record().Point().Value().SetInt64(x.value)
		err := r.Write()
		if errors.Is(err, stef.ErrLimit) { // only this record is not written
			left = append(left, fmt.Errorf("item %d of the batch: %w", i+1, err)) // err contains the number of the record in the stream
		} else if err != nil {
			return 0, err
		}
	}
	return r.Stats().Records, stefgrpc.LeftOut(left...)
}

// This program sends data as long as it runs. Several goroutines send. The session opens
// streams, distributes batches over them, replaces streams, and returns the result of each
// batch to its caller.
func ExampleSession() {
	address, stop := serveExample() // a server in this process: see example_test.go
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
	config := stefgrpc.SessionConfig{}
	config.Streams = 2
	session, err := stefgrpc.NewSession(func(ctx context.Context) (*stefgrpc.Stream, error) {
		return client.Open(ctx, otelstef.MetricsRoot())
	}, newReadingWriter, config)
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	batches := [][]reading{
		{{"requests", 1}, {"errors", 0}},
		{{"requests", 2}, {"", 5}}, // the server rejects metrics without a name
		{{"requests", 3}, {"errors", -1}},
	}
	ends := make([]string, len(batches))
	var group sync.WaitGroup
	for i, batch := range batches {
		group.Go(func() { ends[i] = describe(session.Send(ctx, batch)) })
	}
	group.Wait()
	for _, end := range ends {
		fmt.Println(end)
	}
	fmt.Println("shutdown:", session.Shutdown(ctx))
	// Output:
	// delivered
	// delivered, but for 1 bad records: [{2 2}]
	// to be dropped: a value below zero
	// shutdown: <nil>
}

// describe says what to do with a batch after Send.
func describe(err error) string {
	var rejected *stefgrpc.RejectedError
	var bad *stefgrpc.BatchError
	var unsent *stefgrpc.UnsentError
	switch {
	case err == nil:
		return "delivered"
	case errors.As(err, &bad) && bad.Delivered: // may wrap a *RejectedError
		return fmt.Sprint("delivered, except: ", bad.Err)
	case errors.As(err, &rejected):
		return fmt.Sprintf("delivered, but for %d bad records: %v", rejected.Records, rejected.Ranges)
	case errors.As(err, &bad):
		return fmt.Sprint("to be dropped: ", bad.Err)
	case errors.As(err, &unsent) && unsent.Cause.Retryable():
		// Two kinds of records must not be sent again: the acknowledged records at the start
		// of the batch, and the bad records. Usually there are none.
		return fmt.Sprintf("to be sent again after %v, from record %d on, without %v; may arrive twice: %v",
			unsent.Cause.RetryDelay, unsent.Acknowledged+1, unsent.Rejected, unsent.MaybeDelivered)
	case unsent != nil && !unsent.Refused.IsZero(): // the batch may be good: the server has, for example, no STEF
		return fmt.Sprint("to be kept until the server or this program is corrected: ", err)
	}
	return fmt.Sprint("to be dropped: ", err)
}

// wide holds the attributes of one point, possibly very many.
type wide map[string]string

// wideWriter writes wide points. It leaves out a point with more attributes than a record can
// have.
type wideWriter struct{ *otelstef.MetricsWriter }

func (w wideWriter) WriteBatch(batch []wide) (uint64, error) {
	var left []error
	for i, point := range batch {
		attributes := w.Record().Attributes()
		attributes.Reset() // a record keeps its content, also after an error
		for key, value := range point {
			attributes.AppendString(key, value)
		}
		err := w.Write()
		if errors.Is(err, stef.ErrLimit) {
			left = append(left, fmt.Errorf("item %d of the batch: %w", i+1, err)) // err contains the number of the record in the stream
		} else if err != nil {
			return 0, err
		}
	}
	return w.Stats().Records, stefgrpc.LeftOut(left...)
}

// A BatchWriter leaves out records that exceed a limit. Send waits until the other records are
// acknowledged. Then it returns a *BatchError with Delivered, which wraps the error of WriteBatch.
func ExampleLeftOut() {
	w, err := otelstef.NewMetricsWriter(io.Discard) // in a program: on a *Stream
	if err != nil {
		log.Fatal(err)
	}
	tooWide := wide{}
	for i := range stef.MaxPairs + 1 {
		tooWide[fmt.Sprint("key", i)] = "x"
	}
	last, err := wideWriter{w}.WriteBatch([]wide{{"host": "a"}, tooWide, {"host": "b"}})
	var items interface{ Items() int }
	fmt.Println(last, "records are written, an item is left out:", errors.As(err, &items) && items.Items() == 1)
	fmt.Println("because of a limit:", errors.Is(err, stef.ErrLimit))
	text, _, _ := strings.Cut(err.Error(), "; ") // the rest says what the program may have done wrong
	fmt.Println(text)
	// Output:
	// 2 records are written, an item is left out: true
	// because of a limit: true
	// 1 item left out: item 2 of the batch: stef: record 2: limit exceeded: a multimap Attributes has 1024 pairs, at most 1023 are allowed
}

// Send a batch repeatedly until it is delivered. Each time, the loop omits the records that the server
// has acknowledged or rejected. It ends when the context ends or the session is shut down.
func ExampleUnsentError() {
	ctx := context.Background()
	batch := []reading{{"a", 1}, {"b", 2}, {"", 3}, {"d", 4}, {"e", 5}}
	attempts := 0
	send := func(_ context.Context, batch []reading) error { // in a program: session.Send
		fmt.Println("send", batch)
		if attempts++; attempts > 1 {
			return nil
		}
		// The stream broke after the server had answered the first three of five records.
		return &stefgrpc.UnsentError{
			Cause:        &stefgrpc.Error{Kind: stefgrpc.KindUnavailable, Err: errors.New("the connection was lost")},
			Acknowledged: 2,
			Rejected:     []stefgrpc.IDRange{{From: 3, To: 3}},
		}
	}
	fmt.Println(sendUntilDelivered(ctx, send, batch))
	// Output:
	// send [{a 1} {b 2} { 3} {d 4} {e 5}]
	// send [{d 4} {e 5}]
	// <nil>
}

// sendUntilDelivered sends a batch, and sends its unanswered records again while the error is
// retryable. The batch writer of the session must write one record for each element, in order,
// or leave the element out.
func sendUntilDelivered(ctx context.Context, send func(context.Context, []reading) error, batch []reading) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := send(ctx, batch)
		var unsent *stefgrpc.UnsentError
		if !errors.As(err, &unsent) || !unsent.Cause.Retryable() {
			return err // nil, *RejectedError or *BatchError, or a permanent cause: sending again does not help
		}
		if ctx.Err() != nil || errors.Is(err, stefgrpc.ErrSessionClosed) {
			return err
		}
		if batch = unanswered(batch, unsent); len(batch) == 0 {
			return nil // each record is acknowledged or rejected
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(wait, unsent.Cause.RetryDelay)):
		}
	}
}

// unanswered returns the elements of the batch to send again. If the batch writer left out elements,
// the numbers of the answered records are not the positions of their elements. Then unanswered
// returns the whole batch, and the answered records arrive twice.
func unanswered(batch []reading, unsent *stefgrpc.UnsentError) (rest []reading) {
	if unsent.LeftOut != nil {
		return batch
	}
	for i, x := range batch {
		n := uint64(i) + 1
		rejected := slices.ContainsFunc(unsent.Rejected, func(r stefgrpc.IDRange) bool { return r.From <= n && n <= r.To })
		if n > unsent.Acknowledged && !rejected {
			rest = append(rest, x)
		}
	}
	return rest
}
