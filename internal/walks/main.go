// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Command walks counts the functions of this repository that run on the three
// ways that docs/architecture.md describes: a point from pdata to the wire, wire
// bytes back to pdata, a push to its acknowledgement. It counts what runs once
// the streams are warm. make walks builds it with coverage and runs it.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"runtime/coverage"
	"slices"
	"strings"

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

const module = "github.com/otelstef/stef/"

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
	if err := walk("a point from pdata to the wire", push); err != nil {
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
	if err := walk("wire bytes back to pdata", decode); err != nil {
		return err
	}

	send, stop, err := pair()
	if err != nil {
		return err
	}
	defer stop()
	return walk("a push to its acknowledgement", send)
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

// pair starts an exporter and a receiver and returns how to send a point, which
// waits for its acknowledgement.
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

// walk does something until nothing new happens any more, then once more, and
// prints the functions that ran.
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
	dir, err := os.MkdirTemp("", "walks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := coverage.WriteMetaDir(dir); err != nil {
		return err
	}
	if err := coverage.WriteCountersDir(dir); err != nil {
		return err
	}
	out, err := exec.Command("go", "tool", "covdata", "func", "-i", dir).Output()
	if err != nil {
		return err
	}
	rooms := map[string]int{}
	total := 0
	for line := range strings.Lines(string(out)) {
		// FILE:LINE: FUNCTION SHARE%
		words := strings.Fields(line)
		file, ours := strings.CutPrefix(words[0], module)
		if len(words) != 3 || !ours || words[2] == "0.0%" || strings.HasPrefix(file, "internal/walks/") {
			continue
		}
		rooms[path.Dir(file)]++
		total++
		if len(os.Args) > 1 && os.Args[1] == "-v" {
			fmt.Printf("\t%s %s\n", path.Dir(file), words[1])
		}
	}
	fmt.Printf("%s: %d functions\n", name, total)
	var names []string
	for room := range rooms {
		names = append(names, room)
	}
	slices.Sort(names)
	for _, room := range names {
		fmt.Printf("%6d %s\n", rooms[room], room)
	}
	return nil
}
