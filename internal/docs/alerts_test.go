// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/internal/teltest/alerts"
)

// helperMetrics are metrics that the Collector adds to exporters and receivers.
var helperMetrics = []string{
	"exporter_queue_size", "exporter_queue_capacity",
	"exporter_send_failed_spans", "exporter_send_failed_metric_points", "exporter_send_failed_log_records",
	"exporter_enqueue_failed_spans", "exporter_enqueue_failed_metric_points", "exporter_enqueue_failed_log_records",
	"receiver_refused_spans", "receiver_refused_metric_points", "receiver_refused_log_records",
}

// TestAlerts checks the alerts of exporter and receiver: metrics and labels exist, alerts that
// group series do not add up several Collectors, brackets match, and the README lists all alerts.
func TestAlerts(t *testing.T) {
	root := teltest.Root(t)
	listed := regexp.MustCompile("(?m)^\\| `(Stef(?:Exporter|Receiver)\\w+)` \\|")
	for _, c := range []componentMetrics{exporterMetrics, receiverMetrics} {
		metrics, attributes := c.load(t, root)
		var names []string
		for _, alert := range alerts.Read(t, filepath.Join(root, c.folder, "alerts.yaml")) {
			names = append(names, alert.Name)
			for _, pair := range []string{"()", "{}", "[]"} {
				require.Equal(t, strings.Count(alert.Expr, pair[:1]), strings.Count(alert.Expr, pair[1:]), alert.Expr)
			}
			labels := []string{"instance", "le", c.own}
			for _, s := range alert.Selectors {
				if slices.Contains(helperMetrics, s.Metric) {
					continue
				}
				name := strings.TrimSuffix(strings.TrimPrefix(s.Metric, c.prefix), "_bucket")
				require.Contains(t, metrics, name, "%s: no such metric", alert.Name)
				labels = append(labels, metrics[name].attributes...)
				for label, values := range s.Values {
					require.Contains(t, append(metrics[name].attributes, c.own), label, alert.Name)
					if enum, ok := attributes[label].([]any); ok {
						for _, value := range values {
							require.Contains(t, enum, value, alert.Name)
						}
					}
				}
			}
			for _, label := range alert.Grouped {
				require.Contains(t, labels, label, alert.Name)
			}
			if len(alert.Grouped) > 0 {
				require.Contains(t, alert.Grouped, "instance", "%s adds up all Collectors", alert.Name)
			}
		}
		var inReadme []string
		for _, m := range listed.FindAllStringSubmatch(read(t, root, c.folder+"/README.md"), -1) {
			inReadme = append(inReadme, m[1])
		}
		require.Equal(t, names, inReadme)
	}
}
