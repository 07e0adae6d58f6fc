// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

// agentConfig configures an agent. Its stef receiver accepts OTLP/gRPC at the same endpoint as
// STEF. The agent sends STEF or OTLP.
const agentConfig = `
receivers:
  stef:
    endpoint: %s
exporters:
  stef:
    endpoint: %s
    tls: {insecure: true}
    protocol: %s
    otlp_fallback: {compression: zstd}
`

// backendConfig configures a backend: it receives STEF and OTLP at one endpoint
// and counts the items.
const backendConfig = `
receivers:
  stef:
    endpoint: %s
exporters:
  count:
`

// serviceConfig connects the receiver stef to an exporter, in a pipeline for each signal. The
// Collectors log little, because they are measured from outside.
const serviceConfig = `
service:
  telemetry:
    logs: {level: error}
    metrics: {level: none}
  pipelines:
    traces: {receivers: [stef], exporters: [%[1]s]}
    metrics: {receivers: [stef], exporters: [%[1]s]}
    logs: {receivers: [stef], exporters: [%[1]s]}
`

type collector struct {
	name  string
	inner *otelcol.Collector
	ended chan error
}

func startCollector(name, config string, exporters ...exporter.Factory) (*collector, error) {
	factories := func() (f otelcol.Factories, err error) {
		f.Telemetry = otelconftelemetry.NewFactory()
		if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](stefreceiver.NewFactory()); err != nil {
			return f, err
		}
		f.Exporters, err = otelcol.MakeFactoryMap(append(exporters, stefexporter.NewFactory())...)
		return f, err
	}
	inner, err := otelcol.NewCollector(otelcol.CollectorSettings{
		Factories:               factories,
		BuildInfo:               component.BuildInfo{Command: name, Description: "demo " + name, Version: "demo"},
		DisableGracefulShutdown: true,
		// gRPC has one logger for the whole process, but the process has two Collectors.
		SkipSettingGRPCLogger: true,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{"yaml:" + config},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := &collector{name: name, inner: inner, ended: make(chan error, 1)}
	go func() { c.ended <- inner.Run(context.Background()) }()
	for inner.GetState() != otelcol.StateRunning {
		select {
		case err := <-c.ended:
			return nil, fmt.Errorf("%s: %w", name, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return c, nil
}

func (c *collector) stop() error {
	c.inner.Shutdown()
	if err := <-c.ended; err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

func startBackend(endpoint string, count *counter) (*collector, error) {
	config := fmt.Sprintf(backendConfig, endpoint) + fmt.Sprintf(serviceConfig, "count")
	return startCollector("backend", strings.TrimSpace(config), count.factory())
}

func startAgent(endpoint, backend, protocol string) (*collector, error) {
	config := fmt.Sprintf(agentConfig, endpoint, backend, protocol) + fmt.Sprintf(serviceConfig, "stef")
	return startCollector("agent", strings.TrimSpace(config))
}
