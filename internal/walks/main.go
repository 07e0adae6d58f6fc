// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Command walks counts the functions of this repository that run on the three walks (code
// paths) of docs/architecture.md: a point from pdata to the wire, wire bytes back to pdata, and a
// push to its acknowledgement. It counts the functions that run on warm streams. It fails if the
// page names a function for a walk, and the function does not run there. make walks builds this
// command with coverage and runs it in the root of the repository.
package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime/coverage"
	"slices"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/receiver/stefreceiver"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "walks:", err)
		os.Exit(1)
	}
}

func run() error {
	var wire bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&wire, stef.WithCompression(stef.Zstd))
	if err != nil {
		return err
	}
	encoder := stefpdata.NewMetricsEncoder(w)
	push := func(n int) error {
		if err := encoder.Encode(point(n)); err != nil {
			return err
		}
		return w.Flush()
	}
	if err := walk("A point from pdata to the wire", push); err != nil {
		return err
	}

	r, err := otelstef.NewMetricsReader(&wire)
	if err != nil {
		return err
	}
	decoder := stefpdata.NewMetricsDecoder(r)
	decode := func(int) error {
		_, err := decoder.Decode()
		return err
	}
	if err := walk("Wire bytes back to pdata", decode); err != nil {
		return err
	}

	send, stop, err := pair()
	if err != nil {
		return err
	}
	defer stop()
	return walk("A push to its acknowledgement", send)
}

// point is a batch of one point, the n-th of its series.
func point(n int) pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "shop")
	m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("requests")
	p := m.SetEmptyGauge().DataPoints().AppendEmpty()
	p.Attributes().PutStr("path", "/cart")
	p.SetTimestamp(1_700_000_000_000_000_000)
	p.SetIntValue(int64(n))
	return md
}

// pair starts an exporter and a receiver. It returns send, which sends a point and waits
// for its acknowledgement, and stop, which ends both.
func pair() (send func(n int) error, stop func(), err error) {
	ctx, host := context.Background(), componenttest.NewNopHost()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil, nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, nil, err
	}
	in := stefreceiver.NewFactory()
	inConfig := in.CreateDefaultConfig().(*stefreceiver.Config)
	inConfig.ServerConfig.NetAddr.Endpoint = address
	settings := receiver.Settings{ID: component.NewID(in.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	rcv, err := in.CreateMetrics(ctx, settings, inConfig, consumertest.NewNop())
	if err != nil {
		return nil, nil, err
	}
	if err := rcv.Start(ctx, host); err != nil {
		return nil, nil, err
	}
	out := stefexporter.NewFactory()
	outConfig := out.CreateDefaultConfig().(*stefexporter.Config)
	outConfig.ClientConfig.Endpoint = address
	outConfig.ClientConfig.TLS.Insecure = true
	outConfig.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
	exp, err := out.CreateMetrics(ctx, exporter.Settings{ID: component.NewID(out.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}, outConfig)
	if err != nil {
		return nil, nil, err
	}
	if err := exp.Start(ctx, host); err != nil {
		return nil, nil, err
	}
	send = func(n int) error { return exp.ConsumeMetrics(ctx, point(n)) }
	stop = func() {
		_ = exp.Shutdown(ctx)
		_ = rcv.Shutdown(ctx)
	}
	return send, stop, nil
}

// walk calls do 20 times to warm up and then once with cleared counters. It prints how many
// functions the last call ran. All functions that docs/architecture.md names for this walk must
// be among them.
func walk(name string, do func(n int) error) error {
	for n := range 20 {
		if err := do(n); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := coverage.ClearCounters(); err != nil {
		return fmt.Errorf("%w: make walks builds this program with coverage", err)
	}
	if err := do(20); err != nil {
		return err
	}
	ran, err := covered()
	if err != nil {
		return err
	}
	if err := classify(ran); err != nil {
		return err
	}
	report(name, ran)
	return checkPage(name, ran)
}

func report(name string, ran []*function) {
	var classes [numClasses]int
	rooms := map[string]int{}
	for _, f := range ran {
		classes[f.class]++
		if rooms[f.folder]++; len(os.Args) > 1 && os.Args[1] == "-v" {
			fmt.Printf("\t%s %s: %s\n", f.folder, f.name, f.class)
		}
	}
	fmt.Printf("%s: %d functions: %d that call others, %d that call none, %d accessors of records\n",
		name, len(ran), classes[caller], classes[leaf], classes[accessor])
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		fmt.Printf("%6d %s\n", rooms[room], room)
	}
}
