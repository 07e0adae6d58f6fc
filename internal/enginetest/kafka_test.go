// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/awss3exporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/kafkaexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/kafkareceiver"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

const partitions = 6

func topics(t *testing.T) map[string]string {
	base := strings.NewReplacer("/", "-", "_", "-").Replace(strings.ToLower(t.Name())) + strconv.FormatInt(time.Now().UnixNano(), 36)
	return map[string]string{"logs": base + "-logs", "traces": base + "-traces", "metrics": base + "-metrics"}
}

// broker returns the address of a Kafka broker. If STEF_KAFKA is set, it contains this address. If
// not, broker starts a broker in this process.
func broker(t *testing.T, topics map[string]string) string {
	t.Helper()
	if address := os.Getenv("STEF_KAFKA"); address != "" {
		return address // this broker creates topics by itself
	}
	names := make([]string, 0, len(topics))
	for _, name := range topics {
		names = append(names, name)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, names...))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()[0]
}

func total(t *testing.T) int {
	text := os.Getenv("STEF_KAFKA_ITEMS")
	if text == "" {
		return 20_000
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

const batchItems = 500

// exporterConfig returns the configuration of a Kafka exporter. Its producer does not compress
// messages, because the encoding does.
func exporterConfig(t *testing.T, address string, topics map[string]string, encoding string) component.Config {
	return configure(t, kafkaexporter.NewFactory().CreateDefaultConfig(), fmt.Sprintf(`
brokers: [%q]
logs: {topic: %s, encoding: %s}
traces: {topic: %s, encoding: %s}
metrics: {topic: %s, encoding: %s}
producer: {compression: none, allow_auto_topic_creation: true}
sending_queue: {enabled: false}
`, address, topics["logs"], encoding, topics["traces"], encoding, topics["metrics"], encoding))
}

func receiverConfig(t *testing.T, address string, topics map[string]string, group string) component.Config {
	return configure(t, kafkareceiver.NewFactory().CreateDefaultConfig(), fmt.Sprintf(`
brokers: [%q]
group_id: %s
initial_offset: earliest
session_timeout: 10s
heartbeat_interval: 500ms
autocommit: {interval: 100ms}
message_marking: {after: true, on_permanent_error: true}
metadata: {refresh_interval: 5s}
logs: {topics: [%s], encoding: stef_encoding}
traces: {topics: [%s], encoding: stef_encoding}
metrics: {topics: [%s], encoding: stef_encoding}
`, address, group, topics["logs"], topics["traces"], topics["metrics"]))
}

type producers struct {
	logs    exporter.Logs
	traces  exporter.Traces
	metrics exporter.Metrics
}

func startProducers(t *testing.T, h host, config component.Config) *producers {
	t.Helper()
	f, p := kafkaexporter.NewFactory(), new(producers)
	settings := exportertest.NewNopSettings(f.Type())
	var err error
	p.logs, err = f.CreateLogs(t.Context(), settings, config)
	require.NoError(t, err)
	p.traces, err = f.CreateTraces(t.Context(), settings, config)
	require.NoError(t, err)
	p.metrics, err = f.CreateMetrics(t.Context(), settings, config)
	require.NoError(t, err)
	p.start(t, h)
	return p
}

func (p *producers) start(t *testing.T, h host) {
	t.Helper()
	for _, c := range []component.Component{p.logs, p.traces, p.metrics} {
		require.NoError(t, c.Start(t.Context(), h))
	}
}

// send sends n items of each signal, numbered from first on. It returns when the items are
// acknowledged.
func (p *producers) send(t *testing.T, first, n int) {
	t.Helper()
	require.NoError(t, p.trySend(t.Context(), first, n))
}

// trySend is like send, but can also be called outside the goroutine of a test.
func (p *producers) trySend(ctx context.Context, first, n int) error {
	if err := p.logs.ConsumeLogs(ctx, numberedLogs(first, n)); err != nil {
		return err
	}
	if err := p.traces.ConsumeTraces(ctx, numberedTraces(first, n)); err != nil {
		return err
	}
	return p.metrics.ConsumeMetrics(ctx, numberedMetrics(first, n))
}

func (p *producers) stop(t *testing.T) {
	t.Helper()
	for _, c := range []component.Component{p.logs, p.traces, p.metrics} {
		require.NoError(t, c.Shutdown(context.Background()))
	}
}

func newLedgers() map[string]*ledger {
	return map[string]*ledger{"logs": newLedger(), "traces": newLedger(), "metrics": newLedger()}
}

// requireAll requires that items 0 to n-1 of each signal arrive in time.
func requireAll(t *testing.T, ledgers map[string]*ledger, n int) {
	t.Helper()
	for name, l := range ledgers {
		require.Eventually(t, func() bool {
			distinct, _ := l.distinct()
			return distinct == n
		}, 2*time.Minute, 50*time.Millisecond, "%s: items are missing", name)
		require.Zero(t, l.missing(n))
		_, duplicates := l.distinct()
		t.Logf("%s: %d items arrived, none is missing, %d arrived twice", name, n, duplicates)
	}
}

// consumers are the receivers of all signals. They share a group with other consumers.
type consumers []component.Component

func startConsumers(t *testing.T, h host, config component.Config, to *sink) consumers {
	t.Helper()
	return startConsumersWith(t, h, config, to, zap.NewNop())
}

// startConsumersWith is like startConsumers, but also sets the logger of the receivers.
func startConsumersWith(t *testing.T, h host, config component.Config, to *sink, logger *zap.Logger) consumers {
	t.Helper()
	f := kafkareceiver.NewFactory()
	settings := receivertest.NewNopSettings(f.Type())
	settings.Logger = logger
	logs, err := f.CreateLogs(t.Context(), settings, config, to.logs)
	require.NoError(t, err)
	traces, err := f.CreateTraces(t.Context(), settings, config, to.traces)
	require.NoError(t, err)
	metrics, err := f.CreateMetrics(t.Context(), settings, config, to.metrics)
	require.NoError(t, err)
	all := consumers{logs, traces, metrics}
	for _, c := range all {
		require.NoError(t, c.Start(context.Background(), h))
	}
	return all
}

func (c consumers) stop(t *testing.T) {
	t.Helper()
	for _, one := range c {
		require.NoError(t, one.Shutdown(context.Background()))
	}
}

// TestKafka sends numbered items through a topic for each signal, and from there over STEF to a
// sink. Meanwhile consumers leave and join their group. Every item arrives. An item arrives twice
// only if it was being consumed while its partition moved to another consumer.
func TestKafka(t *testing.T) {
	names, n := topics(t), total(t)
	address, h := broker(t, names), newHost(t)
	to := newSink(t)
	group := names["logs"]
	first := startConsumers(t, h, receiverConfig(t, address, names, group), to)

	p := startProducers(t, h, exporterConfig(t, address, names, "stef_encoding"))
	var second consumers
	for sent := 0; sent < n; sent += batchItems {
		switch sent {
		case n / 4 / batchItems * batchItems:
			second = startConsumers(t, h, receiverConfig(t, address, names, group), to)
		case n / 2 / batchItems * batchItems:
			first.stop(t)
		case 3 * n / 4 / batchItems * batchItems:
			first = startConsumers(t, h, receiverConfig(t, address, names, group), to)
		}
		p.send(t, sent, min(batchItems, n-sent))
	}
	requireAll(t, to.ledgers, n)
	first.stop(t)
	second.stop(t)
	p.stop(t)
}

func refused(telemetry *componenttest.Telemetry, reason string) (n int64) {
	m, err := telemetry.GetMetric("otelcol_extension_stef_encoding_messages_refused")
	if err != nil { // there is no metric before the first message is refused
		return 0
	}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		if got, ok := p.Attributes.Value("reason"); ok && got.AsString() == reason {
			n += p.Value
		}
	}
	return n
}

// TestKafkaBadMessages: the receiver skips messages that do not decode. For each it logs an error
// that says what to do, and then delivers the next messages. Each bad message is counted once,
// because no other consumer of the group receives it again. The test uses two settings of
// message_marking: the default, which marks messages before they are processed, and after: true
// with on_permanent_error: true.
func TestKafkaBadMessages(t *testing.T) {
	t.Run("before", func(t *testing.T) { testBadMessages(t, "{after: false, on_permanent_error: false}") })
	t.Run("after", func(t *testing.T) { testBadMessages(t, "{after: true, on_permanent_error: true}") })
}

// awaitCommit waits until the group has committed all messages of the topic. If a consumer stops
// earlier, the next one receives again what was delivered and not yet committed.
func awaitCommit(t *testing.T, client *kgo.Client, group, topic string) {
	t.Helper()
	admin := kadm.NewClient(client)
	require.Eventually(t, func() bool {
		committed, err := admin.FetchOffsets(t.Context(), group)
		if err != nil {
			return false
		}
		ends, err := admin.ListEndOffsets(t.Context(), topic)
		if err != nil || ends.Error() != nil {
			return false
		}
		messages := int64(0)
		for _, end := range ends[topic] {
			messages += end.Offset
			if position, ok := committed.Lookup(topic, end.Partition); end.Offset > 0 && (!ok || position.At < end.Offset) {
				return false
			}
		}
		return messages > 0
	}, time.Minute, 20*time.Millisecond)
}

func testBadMessages(t *testing.T, marking string) {
	names := topics(t)
	telemetry := componenttest.NewTelemetry()
	address, h := broker(t, names), newHostWith(t, telemetry.NewTelemetrySettings())
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.AllowAutoTopicCreation())
	require.NoError(t, err)
	defer client.Close()
	produce := func(value []byte) {
		t.Helper()
		record := &kgo.Record{Topic: names["logs"], Value: value}
		require.NoError(t, client.ProduceSync(t.Context(), record).FirstErr())
	}
	good := func(first, n int) []byte {
		e := h[component.MustNewID("stef_encoding")].(interface {
			marshalLogs
			marshalTraces
		})
		message, err := e.MarshalLogs(numberedLogs(first, n))
		require.NoError(t, err)
		return message
	}
	traces, err := h[component.MustNewID("stef_encoding")].(marshalTraces).MarshalTraces(numberedTraces(0, 3))
	require.NoError(t, err)

	produce(good(0, 100))
	produce([]byte(`{"resourceLogs":[]}`)) // JSON instead of STEF
	produce(traces)                        // traces in the topic of logs
	whole := good(0, 100)
	produce(whole[:len(whole)/2]) // a truncated message

	to := newSink(t)
	core, logged := observer.New(zap.InfoLevel)
	reasons := []string{"format", "signal", "corrupt"}
	arrived := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool {
			distinct, _ := to.ledgers["logs"].distinct()
			for _, reason := range reasons { // the bad messages may be in other partitions, and be read later
				if refused(telemetry, reason) == 0 {
					return false
				}
			}
			return distinct == n
		}, 2*time.Minute, 50*time.Millisecond)
		_, duplicates := to.ledgers["logs"].distinct()
		require.Zero(t, duplicates)
		for _, reason := range reasons {
			require.EqualValues(t, 1, refused(telemetry, reason), reason)
		}
	}
	config := configure(t, receiverConfig(t, address, names, names["logs"]), "message_marking: "+marking)
	c := startConsumersWith(t, h, config, to, zap.New(core))
	produce(good(100, 100))
	arrived(200)
	awaitCommit(t, client, names["logs"], names["logs"]) // the group has the name of the topic
	c.stop(t)
	for _, advice := range []string{
		"set the encoding that its sender uses, such as otlp_proto",
		"traces, not logs; use one topic or path for each signal",
		"check what wrote or truncated it",
	} {
		require.True(t, slices.ContainsFunc(logged.All(), func(e observer.LoggedEntry) bool {
			return strings.Contains(fmt.Sprint(e.ContextMap()), advice)
		}), advice)
	}

	c = startConsumers(t, h, config, to)
	produce(good(200, 100))
	arrived(300)
	c.stop(t)
}

// TestUnknownEncoding: if no extension has the name of the encoding, each component fails to
// start, and the error contains this name.
func TestUnknownEncoding(t *testing.T) {
	names, settings := topics(t), exportertest.NewNopSettings
	address := broker(t, names)
	kafkaOut, kafkaIn, file, s3 := kafkaexporter.NewFactory(), kafkareceiver.NewFactory(), fileexporter.NewFactory(), awss3exporter.NewFactory()
	for name, create := range map[string]func() (component.Component, error){
		"kafka exporter": func() (component.Component, error) {
			return kafkaOut.CreateLogs(t.Context(), settings(kafkaOut.Type()), exporterConfig(t, address, names, "stef_encoding"))
		},
		"kafka receiver": func() (component.Component, error) {
			return kafkaIn.CreateLogs(t.Context(), receivertest.NewNopSettings(kafkaIn.Type()), receiverConfig(t, address, names, "group"), newCounter(t).logs)
		},
		"file exporter": func() (component.Component, error) {
			config := fmt.Sprintf("{path: %q, format: proto, encoding: stef_encoding}", filepath.Join(t.TempDir(), "file"))
			return file.CreateLogs(t.Context(), settings(file.Type()), configure(t, file.CreateDefaultConfig(), config))
		},
		"awss3 exporter": func() (component.Component, error) {
			const config = "{encoding: stef_encoding, s3uploader: {s3_bucket: telemetry}}"
			return s3.CreateLogs(t.Context(), settings(s3.Type()), configure(t, s3.CreateDefaultConfig(), config))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := create()
			require.NoError(t, err)
			err = c.Start(t.Context(), host{})
			require.ErrorContains(t, err, "stef_encoding")
			t.Log(err)
			if name != "kafka receiver" { // its Shutdown waits forever after a failed start
				require.NoError(t, c.Shutdown(context.Background()))
			}
		})
	}
}

// TestKafkaPauses: with after: true and without on_permanent_error, the Kafka receiver stops
// reading a partition at a message that does not decode. It reads this message only once.
func TestKafkaPauses(t *testing.T) {
	names := topics(t)
	telemetry := componenttest.NewTelemetry()
	address, h := broker(t, names), newHostWith(t, telemetry.NewTelemetrySettings())
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.AllowAutoTopicCreation())
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: names["logs"], Value: []byte("text")}).FirstErr())

	core, logged := observer.New(zap.InfoLevel)
	config := configure(t, receiverConfig(t, address, names, names["logs"]), "message_marking: {after: true, on_permanent_error: false}")
	c := startConsumersWith(t, h, config, newSink(t), zap.New(core))
	require.Eventually(t, func() bool {
		return logged.FilterMessageSnippet("pausing partition").Len() == 1
	}, 60*time.Second, 20*time.Millisecond)
	time.Sleep(time.Second) // several polls
	require.EqualValues(t, 1, refused(telemetry, "format"))
	c.stop(t)
}
