// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package study

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"

	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/stefmetric"
	"github.com/otelstef/stef/sdk/steftrace"
)

// The exporters.
const (
	None        = "no instrumentation" // only the operation, without spans
	NoOp        = "no-op tracer"
	Nothing     = "no exporter" // spans are recorded and dropped
	Stdout      = "stdout"
	OTLP        = "OTLP gRPC"
	OTLPDelayed = "OTLP gRPC, 20 ms"
	OTLPHTTP    = "OTLP HTTP"
	STEF        = "STEF gRPC"
	STEFDelayed = "STEF gRPC, 20 ms"
	File        = "STEF file"
	FileDelayed = "STEF file, flushed each second"
	LTTng       = "LTTng log line, no session"
	LTTngIdle   = "LTTng log line, not recorded"
	LTTngLocal  = "LTTng log line, recorded"
	LTTngRemote = "LTTng log line, sent to a relay"
)

// lines are the configurations that write log lines in place of spans.
var lines = []string{LTTng, LTTngIdle, LTTngLocal, LTTngRemote}

// counter counts bytes that leave the process, and spans that arrived.
type counter struct {
	bytes, delivered atomic.Int64
	dir              string // folder of files
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return len(p), nil
}

type countedConn struct {
	net.Conn
	counter *counter
}

// Write implements net.Conn.
func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.counter.bytes.Add(int64(n))
	return n, err
}

func (c *counter) dial(ctx context.Context, _, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return countedConn{conn, c}, nil
}

func (c *counter) dialer() grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return c.dial(ctx, "tcp", address) })
}

func (c *counter) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: c.dial}}
}

func (c *counter) total() (int64, error) {
	n := c.bytes.Load()
	if c.dir == "" {
		return n, nil
	}
	err := filepath.WalkDir(c.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

type counted struct {
	sdktrace.SpanExporter
	counter *counter
}

// ExportSpans implements sdktrace.SpanExporter.
func (x counted) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := x.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		x.counter.delivered.Add(int64(len(spans)))
	}
	return err
}

type nothing struct{}

// ExportSpans implements sdktrace.SpanExporter.
func (nothing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }

// Shutdown implements sdktrace.SpanExporter.
func (nothing) Shutdown(context.Context) error { return nil }

func exporterOf(ctx context.Context, name string, to Addresses, c *counter) (sdktrace.SpanExporter, error) {
	x, err := open(ctx, name, to, c)
	if err != nil {
		return nil, err
	}
	return counted{x, c}, nil
}

func open(ctx context.Context, name string, to Addresses, c *counter) (sdktrace.SpanExporter, error) {
	otlp := func(address string) (sdktrace.SpanExporter, error) {
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(address), otlptracegrpc.WithInsecure(), otlptracegrpc.WithDialOption(c.dialer()))
	}
	stef := func(address string) (sdktrace.SpanExporter, error) {
		return steftrace.New(ctx, stefsdk.WithEndpoint("passthrough:///"+address), stefsdk.WithInsecure(), stefsdk.WithDialOption(c.dialer()))
	}
	file := func(options ...stefsdk.FileOption) (sdktrace.SpanExporter, error) {
		var err error
		if c.dir, err = os.MkdirTemp(os.Getenv("STEF_STUDY_DIR"), "study"); err != nil {
			return nil, err
		}
		return steftrace.NewFile(c.dir, options...)
	}
	switch name {
	case Nothing:
		return nothing{}, nil
	case Stdout:
		return stdouttrace.New(stdouttrace.WithWriter(c))
	case OTLP:
		return otlp(to.GRPC)
	case OTLPDelayed:
		return otlp(to.Delayed)
	case OTLPHTTP:
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(to.HTTP), otlptracehttp.WithInsecure(), otlptracehttp.WithHTTPClient(c.client()))
	case STEF:
		return stef(to.GRPC)
	case STEFDelayed:
		return stef(to.Delayed)
	case File:
		return file()
	case FileDelayed:
		return file(stefsdk.WithFlushInterval(time.Second))
	}
	return nil, fmt.Errorf("study: no exporter %q", name)
}

func metricExporterOf(ctx context.Context, name string, to Addresses, c *counter) (sdkmetric.Exporter, error) {
	switch name {
	case Stdout:
		return stdoutmetric.New(stdoutmetric.WithWriter(c))
	case OTLP:
		return otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(to.GRPC), otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithDialOption(c.dialer()))
	case OTLPHTTP:
		return otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpoint(to.HTTP), otlpmetrichttp.WithInsecure(), otlpmetrichttp.WithHTTPClient(c.client()))
	case OTLPDelayed:
		return otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(to.Delayed), otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithDialOption(c.dialer()))
	case STEF:
		return stefmetric.New(ctx, stefsdk.WithEndpoint("passthrough:///"+to.GRPC), stefsdk.WithInsecure(), stefsdk.WithDialOption(c.dialer()))
	case STEFDelayed:
		return stefmetric.New(ctx, stefsdk.WithEndpoint("passthrough:///"+to.Delayed), stefsdk.WithInsecure(), stefsdk.WithDialOption(c.dialer()))
	case File:
		var err error
		if c.dir, err = os.MkdirTemp(os.Getenv("STEF_STUDY_DIR"), "study"); err != nil {
			return nil, err
		}
		return stefmetric.NewFile(c.dir)
	}
	return nil, fmt.Errorf("study: no exporter of metrics %q", name)
}
