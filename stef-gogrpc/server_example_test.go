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
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc"
)

type database struct {
	mu   sync.Mutex
	rows []string
}

func (d *database) insert(rows []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rows = append(d.rows, rows...)
	return nil
}

// storage stores telemetry as rows. For each signal it has a handler, which converts a record to the
// text of a row. The text is "" if the record is bad.
type storage struct{ db database }

func (b *storage) metrics(s *stefgrpc.ServerStream) error {
	r, err := otelstef.NewMetricsReader(s, limited(s)...)
	if err != nil {
		return err
	}
	return b.receive(s, r, func() string {
		rec := r.Record()
		if rec.Metric().Name() == "" {
			return ""
		}
		switch v := rec.Point().Value(); v.Type() {
		case otelstef.PointValueTypeInt64:
			return fmt.Sprint(rec.Metric().Name(), " ", rec.Attributes(), " ", v.Int64())
		case otelstef.PointValueTypeFloat64:
			return fmt.Sprint(rec.Metric().Name(), " ", rec.Attributes(), " ", v.Float64())
		default: // histograms and summaries
			return fmt.Sprint(rec.Metric().Name(), " ", rec.Attributes(), " ", v)
		}
	})
}

func (b *storage) spans(s *stefgrpc.ServerStream) error {
	r, err := otelstef.NewSpansReader(s, limited(s)...)
	if err != nil {
		return err
	}
	return b.receive(s, r, func() string {
		span := r.Record().Span()
		return fmt.Sprintf("%x %x %s", span.TraceID(), span.SpanID(), span.Name())
	})
}

func (b *storage) logs(s *stefgrpc.ServerStream) error {
	r, err := otelstef.NewLogsReader(s, limited(s)...)
	if err != nil {
		return err
	}
	return b.receive(s, r, func() string {
		rec := r.Record().Record()
		text, ok := rec.Body().Text() // handles both forms of text
		if !ok {
			text = rec.Body().String() // other bodies, as JSON
		}
		return fmt.Sprint(rec.Observed(), " ", text)
	})
}

// largestFrame is the size of the largest frame of clients: 4 MiB plus the last record. This record
// can have 32 MiB if package stefpdata writes it: 8 MiB each for item, resource, scope and metric. If
// a server refuses a frame, the client drops the first batch of the frame.
const largestFrame = 36 << 20

// fromCollectors lets Collectors keep their connections: their exporters send a keepalive every 30 s
// while a stream is open. By default, a gRPC server accepts no intervals below five minutes, and
// closes the connection of an idle stream after about 90 s.
func fromCollectors() grpc.ServerOption {
	return grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true})
}

// limited returns the options of a reader that accepts frames of up to largestFrame. The default,
// 64 MiB, would allow more memory.
func limited(s *stefgrpc.ServerStream) []stef.ReaderOption {
	return append(s.ReaderOptions(), stef.WithLimits(stef.Limits{FrameBytes: largestFrame}))
}

type reader interface {
	Next() bool
	BufferedRecords() uint64
	Stats() stef.ReaderStats
	Err() error
	Close()
}

// maxRows is the maximum number of rows in an insert.
const maxRows = 1000

// receive stores the records of a stream and acknowledges the stored records.
func (b *storage) receive(s *stefgrpc.ServerStream, r reader, row func() string) error {
	defer r.Close()
	var rows []string
	var id uint64 // of the current record
	insert := func() error {
		if err := b.db.insert(rows); err != nil {
			return err
		}
		rows = rows[:0]
		s.AckUpTo(id)
		return nil
	}
	for r.Next() {
		id = r.Stats().Records
		if text := row(); text != "" {
			rows = append(rows, text)
		} else {
			s.Reject(id, id) // the client must not send the record again
		}
		if r.BufferedRecords() > 0 && len(rows) < maxRows {
			continue
		}
		if err := insert(); err != nil {
			return err // UNAVAILABLE: the client sends the records again
		}
	}
	// If a record cannot be read, rows has the good records before it. They must be acknowledged before
	// the error is returned: the client drops the batch of the first record without an answer, and this
	// must be the batch of the bad record.
	if err := insert(); err != nil {
		return err
	}
	return r.Err()
}

// A backend accepts metrics, traces and logs from exporters of Collectors, stores them,
// and acknowledges the stored records. Collectors send the compact form by default. To
// receive it, use the compact roots; the readers and records do not change.
func ExampleServer() {
	server, err := stefgrpc.NewServer(stefgrpc.WithMaxStreams(1000), stefgrpc.WithMaxBufferedBytes(64<<20),
		stefgrpc.WithMaxChunkBytes(largestFrame)) // a chunk is a frame as sent
	if err != nil {
		log.Fatal(err)
	}
	b := &storage{}
	for root, handler := range map[*schema.Struct]stefgrpc.HandlerFunc{
		otelstef.MetricsCompactRoot(): b.metrics,
		otelstef.SpansCompactRoot():   b.spans,
		otelstef.LogsCompactRoot():    b.logs,
	} {
		if err := server.Handle(root, handler); err != nil {
			log.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // Collectors expect port 4320
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
	for _, row := range b.db.rows {
		fmt.Println(row)
	}
	stats := server.Stats() // for metrics of the server, at any time
	fmt.Println(stats.Opened, "streams,", stats.Failed, "failed,", stats.AckedRecords, "records,", stats.RejectedRecords, "of them bad")
	// Output:
	// requests {"method":"GET"} 1
	// errors {"method":"GET"} 2
	// 1 streams, 0 failed, 3 records, 1 of them bad
}

// sendExample sends three points like a Collector.
func sendExample(address string) {
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
	s, err := client.Open(ctx, otelstef.MetricsCompactRoot())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	w, err := otelstef.NewMetricsWriter(s, append(s.WriterOptions(), stef.WithCompression(stef.Zstd))...)
	if err != nil {
		log.Fatal(err)
	}
	w.Record().Attributes().AppendString("method", "GET")
	for i, name := range []string{"requests", "errors", ""} {
		w.Record().EditMetric().SetName(name)
		w.Record().Point().Value().SetInt64(int64(i + 1))
		if err := w.Write(); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
	if err := s.Drain(ctx); err != nil {
		log.Fatal(err)
	}
}
