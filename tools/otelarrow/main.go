// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Command otelarrow is a Collector with the components of Otel Arrow. The make target "rivals"
// compares them with ours. Their newest version needs older libraries of the Collector than the
// distribution of this repository, so this command has its own module.
package main

import (
	"fmt"
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/otelarrowexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/otelarrowreceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/nopexporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func components() (otelcol.Factories, error) {
	return otelcol.Factories{
		Receivers: map[component.Type]receiver.Factory{
			otlpreceiver.NewFactory().Type():      otlpreceiver.NewFactory(),
			otelarrowreceiver.NewFactory().Type(): otelarrowreceiver.NewFactory(),
		},
		Processors: map[component.Type]processor.Factory{
			batchprocessor.NewFactory().Type(): batchprocessor.NewFactory(),
		},
		Exporters: map[component.Type]exporter.Factory{
			otlpexporter.NewFactory().Type():      otlpexporter.NewFactory(),
			nopexporter.NewFactory().Type():       nopexporter.NewFactory(),
			otelarrowexporter.NewFactory().Type(): otelarrowexporter.NewFactory(),
		},
		Telemetry: otelconftelemetry.NewFactory(),
	}, nil
}

func main() {
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol-arrow", Description: "Collector with Otel Arrow", Version: "0.145.0"},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()}},
		},
	})
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
