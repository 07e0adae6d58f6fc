// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelstef/stef/internal/teltest"
)

// componentMetrics is a component with metrics of its own.
type componentMetrics struct {
	folder string
	prefix string // of the names of its metrics
	own    string // the attribute with the id of the component
}

var (
	exporterMetrics  = componentMetrics{"exporter/stefexporter", "exporter_stef_", "exporter"}
	receiverMetrics  = componentMetrics{"receiver/stefreceiver", "receiver_stef_", "receiver"}
	fileMetrics      = componentMetrics{"receiver/steffilereceiver", "receiver_steffile_", "receiver"}
	extensionMetrics = componentMetrics{"extension/stefencodingextension", "extension_stef_encoding_", "extension"}
)

// onlyExporter has the metrics that the receiver does not have, and why.
var onlyExporter = map[string]string{
	"ack_latency":            "only a sender waits for acknowledgements; the receiver has consume_duration",
	"backend_items":          "a receiver has no backends",
	"backend_rerouted_items": "a receiver has no backends",
	"backend_up":             "a receiver has no backends",
	"downgrades":             "only the exporter chooses the protocol",
	"failed_attempts":        "only the exporter sends again",
	"frame_size":             "the distribution is that of the sender",
	"frames_sent":            "a receiver splits large frames into batches, which it counts",
	"items_delivered":        "the receiver has receiver_accepted_* of the Collector",
	"items_dropped":          "the receiver has receiver_refused_* of the Collector, and leaves it to the client to send again",
	"otlp_bytes":             "the Collector's OTLP receiver has no such metric either",
	"otlp_bytes_compressed":  "the Collector's OTLP receiver has no such metric either",
	"otlp_bytes_estimated":   "compresses a sample as OTLP; the receiver only sizes it, in bytes_as_otlp",
	"otlp_in_flight":         "the receiver has admission_in_flight_bytes for both protocols",
	"records_rejected_late":  "the receiver rejects before it acknowledges",
	"retries_internal":       "only the exporter moves batches between streams",
	"schema_losses":          "only the writer knows what its schema cannot hold",
	"unacked_batches":        "the exporter sends batches again as a whole; acknowledgements of the receiver are for records",
	"unacked_bytes":          "the receiver has admission_in_flight_bytes",
	"upgrades":               "only the exporter chooses the protocol",
	"zstd_ratio":             "bytes_encoded divided by bytes_compressed, which the receiver has as well",
}

// onlyReceiver has the metrics that the exporter does not have, and why.
var onlyReceiver = map[string]string{
	"admission_in_flight_bytes": "only a receiver bounds what others send",
	"admission_refused":         "only a receiver bounds what others send",
	"admission_waiting_bytes":   "only a receiver bounds what others send",
	"batches":                   "the exporter counts frames",
	"buffered_bytes":            "what was received and waits to be decoded",
	"bytes_as_otlp":             "the size as uncompressed OTLP; the exporter has otlp_bytes_estimated, with compression",
	"connections_closed":        "only a receiver bounds what others do not finish",
	"consume_duration":          "only a receiver has a next consumer; the exporter has ack_latency",
	"decompression_waiting":     "requests that wait at the receiver",
	"dict_bytes":                "memory that a client causes; the exporter sets its own bound",
	"panics":                    "caught while data of others was decoded",
	"requests_refused":          "for the exporter these are failed_attempts",
	"stream_memory_bytes":       "memory that clients cause",
	"streams_handshaking":       "a client names its signal at once",
	"streams_refused":           "for the exporter these are failed_attempts",
	"unacked_records":           "the exporter sends batches again as a whole, and counts those",
}

// morePerMetric has the attributes that a metric has only in the exporter or only in the receiver,
// and why.
var morePerMetric = map[string]string{
	"exporter streams_active state":    "a stream of the exporter connects and drains; the receiver has streams_handshaking",
	"receiver records_rejected reason": "the receiver knows why; the protocol only tells which records",
}

// withoutSignal lists the metrics without the attribute signal. They measure resources that all
// signals share.
var withoutSignal = []string{
	"receiver_stef_admission_in_flight_bytes", "receiver_stef_admission_waiting_bytes", "receiver_stef_buffered_bytes",
	"receiver_stef_connections_closed", "receiver_stef_decompression_waiting", "receiver_stef_stream_memory_bytes", "receiver_stef_streams_handshaking", "receiver_stef_streams_refused",
}

// metricFacts are what a metric must have in common in the exporter and the receiver.
type metricFacts struct {
	unit, stability, kind string
	attributes            []string // all attributes except the id of the component
}

// load reads a metadata.yaml. It returns the metrics by their names without prefix, and the
// attributes with their lists of values.
func (c componentMetrics) load(t *testing.T, root string) (metrics map[string]metricFacts, attributes map[string]any) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(read(t, root, c.folder+"/metadata.yaml")))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	all := conf.ToStringMap()
	attributes = map[string]any{}
	for name, entry := range all["attributes"].(map[string]any) {
		attributes[name] = entry.(map[string]any)["enum"]
	}
	metrics = map[string]metricFacts{}
	for name, entry := range all["telemetry"].(map[string]any)["metrics"].(map[string]any) {
		short, ok := strings.CutPrefix(name, c.prefix)
		require.True(t, ok, name)
		m := entry.(map[string]any)
		facts := metricFacts{unit: fmt.Sprint(m["unit"]), stability: fmt.Sprint(m["stability"])}
		for _, kind := range []string{"sum", "gauge", "histogram"} {
			if k, ok := m[kind].(map[string]any); ok {
				facts.kind = fmt.Sprint(kind, " of ", k["value_type"])
				if kind == "sum" {
					facts.kind += fmt.Sprint(", monotonic ", k["monotonic"])
				}
			}
		}
		list, _ := m["attributes"].([]any)
		for _, a := range list {
			facts.attributes = append(facts.attributes, fmt.Sprint(a))
		}
		require.Contains(t, facts.attributes, c.own, "%s: two components would be one series", name)
		require.True(t, slices.Contains(facts.attributes, "signal") != slices.Contains(withoutSignal, name), name)
		facts.attributes = slices.DeleteFunc(facts.attributes, func(a string) bool { return a == c.own })
		slices.Sort(facts.attributes)
		metrics[short] = facts
	}
	require.NotEmpty(t, metrics)
	return metrics, attributes
}

// asymmetries compares the metrics of exporter and receiver, and lists the differences without a
// known reason.
func asymmetries(exporter, receiver map[string]metricFacts) (problems []string) {
	alone := func(side string, metrics, other map[string]metricFacts, reasons map[string]string) {
		for name := range metrics {
			if _, both := other[name]; !both && reasons[name] == "" {
				problems = append(problems, fmt.Sprintf("only the %s has %s", side, name))
			}
		}
		for name := range reasons {
			_, here := metrics[name]
			if _, both := other[name]; !here || both {
				problems = append(problems, fmt.Sprintf("%s is no longer a metric that only the %s has", name, side))
			}
		}
	}
	alone("exporter", exporter, receiver, onlyExporter)
	alone("receiver", receiver, exporter, onlyReceiver)
	without := func(side, name string, attributes []string) []string {
		return slices.DeleteFunc(slices.Clone(attributes), func(a string) bool { return morePerMetric[side+" "+name+" "+a] != "" })
	}
	for name, e := range exporter {
		r, both := receiver[name]
		if !both {
			continue
		}
		e.attributes, r.attributes = without("exporter", name, e.attributes), without("receiver", name, r.attributes)
		if fmt.Sprint(e) != fmt.Sprint(r) {
			problems = append(problems, fmt.Sprintf("%s: exporter %v, receiver %v", name, e, r))
		}
	}
	slices.Sort(problems)
	return problems
}

// TestMetricsAreSymmetric compares the metrics of exporter and receiver.
func TestMetricsAreSymmetric(t *testing.T) {
	root := teltest.Root(t)
	exporter, ofExporter := exporterMetrics.load(t, root)
	receiver, ofReceiver := receiverMetrics.load(t, root)
	require.Empty(t, strings.Join(asymmetries(exporter, receiver), "\n"))
	for _, name := range []string{"signal", "protocol"} {
		require.ElementsMatch(t, ofExporter[name], ofReceiver[name], name)
	}
	pairs := 0
	for name := range exporter {
		if _, ok := receiver[name]; ok {
			pairs++
		}
	}
	require.GreaterOrEqual(t, pairs, 7)
	t.Logf("%d metrics on both sides, %d only at the exporter, %d only at the receiver", pairs, len(onlyExporter), len(onlyReceiver))
}

// unitOf returns the unit that the name of a metric implies.
func unitOf(name string) string {
	words := strings.Split(name, "_")
	switch {
	case slices.Contains(words, "bytes"), name == "frame_size":
		return "By"
	case strings.HasSuffix(name, "_latency"), strings.HasSuffix(name, "_duration"):
		return "s"
	case strings.HasSuffix(name, "_ratio"):
		return "1"
	}
	return ""
}

// TestMetricsAreAlike checks the metrics of all components: each metric is alpha, its name implies
// its unit, and only ratios are gauges.
func TestMetricsAreAlike(t *testing.T) {
	root := teltest.Root(t)
	for _, c := range []componentMetrics{exporterMetrics, receiverMetrics, fileMetrics, extensionMetrics} {
		metrics, _ := c.load(t, root)
		for name, m := range metrics {
			require.Equal(t, "alpha", m.stability, c.prefix+name)
			if want := unitOf(name); want != "" {
				require.Equal(t, want, m.unit, c.prefix+name)
			} else {
				require.Regexp(t, `^\{[a-z]+s\}$`, m.unit, c.prefix+name)
			}
			// Only ratios are gauges: the sum of a ratio over several components has no meaning.
			require.Equal(t, m.unit == "1", strings.HasPrefix(m.kind, "gauge"), c.prefix+name)
		}
	}
}

func TestMetricsBite(t *testing.T) {
	root := teltest.Root(t)
	load := func() (exporter, receiver map[string]metricFacts) {
		exporter, _ = exporterMetrics.load(t, root)
		receiver, _ = receiverMetrics.load(t, root)
		return exporter, receiver
	}
	f := func(want string, change func(exporter, receiver map[string]metricFacts)) {
		t.Helper()
		exporter, receiver := load()
		change(exporter, receiver)
		require.Contains(t, strings.Join(asymmetries(exporter, receiver), "\n"), want)
	}
	type side = map[string]metricFacts
	f("only the receiver has wire_bytes", func(_, receiver side) { receiver["wire_bytes"] = metricFacts{} })
	f("only the exporter has streams", func(exporter, _ side) { exporter["streams"] = metricFacts{} })
	f("panics is no longer", func(_, receiver side) { delete(receiver, "panics") })
	f("ack_latency is no longer", func(exporter, receiver side) { receiver["ack_latency"] = exporter["ack_latency"] })
	f("dict_resets: exporter", func(_, receiver side) {
		m := receiver["dict_resets"]
		m.unit = "1"
		receiver["dict_resets"] = m
	})
	f("streams_closed: exporter", func(exporter, _ side) {
		m := exporter["streams_closed"]
		m.attributes = append(m.attributes, "state")
		exporter["streams_closed"] = m
	})
}
