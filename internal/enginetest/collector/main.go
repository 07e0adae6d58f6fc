// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Command collector is a Collector with the components of the reference
// deployment: STEF, the encoding extension, Kafka, files and object storage.
// Tests run it with the examples of the extension.
package main

import (
	"log"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/awss3exporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/kafkaexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/awss3receiver"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/kafkareceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/extension/stefencodingextension"
	"github.com/otelstef/stef/receiver/steffilereceiver"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

func components() (otelcol.Factories, error) {
	var (
		f   = otelcol.Factories{Telemetry: otelconftelemetry.NewFactory()}
		err error
	)
	if f.Extensions, err = otelcol.MakeFactoryMap[extension.Factory](stefencodingextension.NewFactory()); err != nil {
		return f, err
	}
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](
		stefreceiver.NewFactory(), steffilereceiver.NewFactory(), kafkareceiver.NewFactory(), awss3receiver.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](
		stefexporter.NewFactory(), kafkaexporter.NewFactory(), fileexporter.NewFactory(), awss3exporter.NewFactory())
	return f, err
}

func main() {
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Description: "Collector of the reference deployment", Version: "0.1.0"},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
		}},
	})
	if err := command.Execute(); err != nil {
		log.Fatal(err)
	}
}
