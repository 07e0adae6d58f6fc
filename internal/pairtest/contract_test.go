// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"testing"

	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

// TestContract runs the Collector's own check of exporters. The receiver accepts all data,
// rejects all data permanently or temporarily, or chooses one of these at random.
func TestContract(t *testing.T) {
	for _, signal := range []pipeline.Signal{pipeline.SignalTraces, pipeline.SignalMetrics, pipeline.SignalLogs} {
		for _, protocol := range []stefexporter.Protocol{stefexporter.ProtocolAuto, stefexporter.ProtocolSTEF, stefexporter.ProtocolOTLP} {
			t.Run(signal.String()+" by "+string(protocol), func(t *testing.T) {
				t.Parallel()
				addr := freeport.Address(t)
				exportertest.CheckConsumeContract(exportertest.CheckConsumeContractParams{
					T:                    t,
					NumberOfTestElements: 15,
					Signal:               signal,
					ExporterFactory:      stefexporter.NewFactory(),
					ExporterConfig: exporterConfig(addr, func(c *stefexporter.Config) {
						c.Protocol = protocol
						c.RetryConfig.Enabled = true
					}),
					ReceiverFactory: stefreceiver.NewFactory(),
					ReceiverConfig:  receiverConfig(t, addr, ""),
				})
			})
		}
	}
}
