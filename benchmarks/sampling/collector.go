// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/groupbytraceprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

func components() (otelcol.Factories, error) {
	f := otelcol.Factories{Telemetry: otelconftelemetry.NewFactory()}
	var err error
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](stefreceiver.NewFactory()); err != nil {
		return f, err
	}
	if f.Processors, err = otelcol.MakeFactoryMap[processor.Factory](memorylimiterprocessor.NewFactory(), groupbytraceprocessor.NewFactory(), tailsamplingprocessor.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](stefexporter.NewFactory())
	return f, err
}

// runCollector runs a Collector until it is interrupted.
func runCollector(config string) error {
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "sampling", Description: "Collector of the study", Version: "0.1.0"},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
		}},
	})
	// The feature gate adds the metrics that count items.
	command.SetArgs([]string{"--config", config, "--feature-gates=+telemetry.newPipelineTelemetry"})
	return command.Execute()
}

func (s *scenario) configuration(listen, backend, metrics string) string {
	processors := s.processors
	if s.limit > 0 {
		processors = append([]string{"memory_limiter"}, processors...)
	}
	return fmt.Sprintf(`receivers:
  stef:
    endpoint: %s
processors:
  memory_limiter:
    check_interval: 200ms
    limit_mib: %d
  groupbytrace:
    wait_duration: %s
    num_traces: %d
  tail_sampling:
    decision_wait: %s
    num_traces: %d
    policies:
      - {name: all, type: always_sample}
exporters:
  stef:
    endpoint: %s
    protocol: %s
    tls: {insecure: true}
service:
  telemetry:
    logs: {level: warn}
    metrics:
      level: detailed
      readers:
        - pull: {exporter: {prometheus: {host: 127.0.0.1, port: %s, without_scope_info: false}}}
  pipelines:
    traces:
      receivers: [stef]
      processors: [%s]
      exporters: [stef]
`, listen, max(s.limit, 1), s.wait, s.traces, s.wait, s.traces, backend, s.protocol, metrics, strings.Join(processors, ", "))
}

// The metrics of the Collector, without the suffix _total. The metrics of items count the spans
// that enter and leave a component.
const (
	metricAccepted   = "otelcol_receiver_accepted_spans"
	metricRefused    = "otelcol_receiver_refused_spans"
	metricConsumed   = "otelcol_processor_consumed_items"
	metricProduced   = "otelcol_processor_produced_items"
	metricExported   = "otelcol_exporter_consumed_items"
	metricSent       = "otelcol_exporter_sent_spans"
	metricHeap       = "otelcol_process_runtime_heap_alloc_bytes"
	metricTraces     = "otelcol_processor_groupbytrace_num_traces_in_memory"
	metricEvents     = "otelcol_processor_groupbytrace_num_events_in_queue"
	metricTailTraces = "otelcol_processor_tail_sampling_sampling_traces_on_memory"
	metricEvicted    = "otelcol_processor_groupbytrace_traces_evicted"
	metricTooEarly   = "otelcol_processor_tail_sampling_sampling_trace_dropped_too_early"
	metricSampled    = "otelcol_processor_tail_sampling_global_count_traces_sampled"
)

// itemsOf returns the key of a metric in the result of scrape: the items of a component with
// the outcome success.
func itemsOf(metric, component string) string { return metric + "/" + component + "/success" }

// label returns the value of a label in the text of a series.
func label(series, name string) string {
	_, rest, _ := strings.Cut(series, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// scrape returns the sum of all series of each metric. Metrics of items have a separate sum for
// each component and outcome: see itemsOf.
func scrape(url string) (map[string]float64, error) {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	sums := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		name, _, _ := strings.Cut(fields[0], "{")
		name = strings.TrimSuffix(name, "_total")
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			continue
		}
		sums[name] += value
		if strings.HasSuffix(name, "_items") {
			sums[name+"/"+label(lines.Text(), "otelcol_component_id")+"/"+label(lines.Text(), "otelcol_component_outcome")] += value
		}
	}
	return sums, lines.Err()
}

// cpuTime returns the CPU time of a process so far.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the process name may contain spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("unexpected content of /proc/%d/stat", pid)
	}
	ticks := 0
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100), nil
}
