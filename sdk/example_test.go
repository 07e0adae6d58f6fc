// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"

	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/steflog"
	"github.com/otelstef/stef/sdk/stefmetric"
	"github.com/otelstef/stef/sdk/steftrace"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// An application writes spans to files. A Collector with the receiver for STEF
// files, or the file tool stef, can read the files.
func Example_files() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "telemetry")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	exporter, err := steftrace.NewFile(dir, stefsdk.WithRotation(16<<20, time.Minute), stefsdk.WithRetention(100, 0))
	if err != nil {
		log.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	_, span := provider.Tracer("shop").Start(ctx, "GET /cart")
	span.End()
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}

	files, err := filepath.Glob(filepath.Join(dir, "telemetry-*-traces.stef"))
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			log.Fatal(err)
		}
		r, err := otelstef.NewSpansReader(file)
		if err != nil {
			log.Fatal(err)
		}
		for r.Next() {
			fmt.Println(r.Record().Scope().Name(), r.Record().Span().Name())
		}
		r.Close()
		if err := errors.Join(r.Err(), file.Close()); err != nil {
			log.Fatal(err)
		}
	}
	// Output: shop GET /cart
}

// An application sends all three signals to a Collector with the stef receiver.
func Example_endpoint() {
	ctx := context.Background()
	address, stop := collector()
	defer stop()

	options := []stefsdk.Option{stefsdk.WithEndpoint(address), stefsdk.WithInsecure()}
	spans, err := steftrace.New(ctx, options...)
	if err != nil {
		log.Fatal(err)
	}
	metrics, err := stefmetric.New(ctx, append(options, stefmetric.WithTemporalitySelector(sdkmetric.DeltaTemporalitySelector))...)
	if err != nil {
		log.Fatal(err)
	}
	logs, err := steflog.New(ctx, options...)
	if err != nil {
		log.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	lp := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logs)))

	_, span := tp.Tracer("shop").Start(ctx, "GET /cart")
	span.End()
	// The body of a log record is a value of package attribute:
	//	var r otellog.Record
	//	r.SetBody(attribute.StringValue("cart shown"))
	//	lp.Logger("shop").Emit(ctx, r)

	// Shutdown exports the remaining telemetry.
	if err := errors.Join(tp.Shutdown(ctx), mp.Shutdown(ctx), lp.Shutdown(ctx)); err != nil {
		log.Fatal(err)
	}
	fmt.Println("delivered spans:", spans.Stats().Delivered)
	// Output: delivered spans: 1
}

// collector stands for a Collector: it acknowledges all spans.
func collector() (address string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server, err := stefgrpc.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	err = server.Handle(otelstef.SpansCompactRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			s.AckUpTo(r.Stats().Records)
		}
		return r.Err()
	}))
	if err != nil {
		log.Fatal(err)
	}
	transport := grpc.NewServer()
	server.Register(transport)
	go func() { _ = transport.Serve(listener) }()
	return listener.Addr().String(), transport.Stop
}
