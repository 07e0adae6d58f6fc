// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/kafkaexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/kafkareceiver"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/freeport"
)

// kafkaBroker is a Kafka broker in a process of its own, in KRaft mode.
type kafkaBroker struct {
	lib, dir, address string
	process           *exec.Cmd
	cpu               time.Duration // CPU time of broker processes that have ended
	started           time.Duration // the part of cpu that the starts used
}

// newBroker starts a broker. STEF_KAFKA_LIB is the folder of the broker's jars, which make
// test-kafka downloads.
func newBroker(t *testing.T) *kafkaBroker {
	t.Helper()
	lib := os.Getenv("STEF_KAFKA_LIB")
	if lib == "" {
		t.Skip("needs a Kafka broker: make test-kafka fetches one and runs this test")
	}
	b := &kafkaBroker{lib: lib, dir: t.TempDir(), address: freeport.Address(t)}
	properties := fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=%[3]s/log
num.partitions=%[4]d
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
`, b.address, freeport.Address(t), b.dir, partitions)
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "server.properties"), []byte(properties), 0o600))
	format := b.java("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", filepath.Join(b.dir, "server.properties"))
	out, err := format.CombinedOutput()
	require.NoError(t, err, "%s", out)
	b.start(t)
	t.Cleanup(func() { b.kill(t) })
	return b
}

func (b *kafkaBroker) java(class string, args ...string) *exec.Cmd {
	options := []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(b.lib, "*"), class}
	return exec.Command("java", append(options, args...)...)
}

// start starts the broker and waits until it answers.
func (b *kafkaBroker) start(t *testing.T) {
	t.Helper()
	require.NoError(t, b.run())
}

// run is like start, but can also be called outside the goroutine of a test.
func (b *kafkaBroker) run() error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address))
	if err != nil {
		return err
	}
	defer client.Close()
	process := b.java("kafka.Kafka", filepath.Join(b.dir, "server.properties"))
	if err := process.Start(); err != nil {
		return err
	}
	b.process = process
	for began := time.Now(); time.Since(began) < 90*time.Second; time.Sleep(200 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err = client.Ping(ctx)
		cancel()
		if err == nil {
			cpu, err := readCPU(process.Process.Pid)
			b.started += cpu
			return err
		}
	}
	return fmt.Errorf("the broker does not answer: %w", err)
}

// killAndRestart kills the broker and starts it again after a second. wait returns when the new
// broker answers.
func (b *kafkaBroker) killAndRestart(t *testing.T) (wait func()) {
	t.Helper()
	began := time.Now()
	b.kill(t)
	answers := make(chan struct{})
	var err error
	var away time.Duration
	go func() {
		defer close(answers)
		time.Sleep(time.Second)
		err = b.run()
		away = time.Since(began)
	}()
	t.Cleanup(func() { <-answers })
	return func() {
		t.Helper()
		<-answers
		require.NoError(t, err)
		t.Logf("the broker was killed, and answered again %.1f s later", away.Seconds())
	}
}

// kill ends the broker as kill -9 does.
func (b *kafkaBroker) kill(t *testing.T) {
	t.Helper()
	if b.process == nil {
		return
	}
	require.NoError(t, b.process.Process.Signal(syscall.SIGKILL))
	_ = b.process.Wait() // the error says that the process was killed
	b.cpu += b.process.ProcessState.UserTime() + b.process.ProcessState.SystemTime()
	b.process = nil
}

// bytes returns the size of the segments of a topic.
func (b *kafkaBroker) bytes(t *testing.T, topic string) (total int64) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(b.dir, "log", topic+"-*", "*.log"))
	require.NoError(t, err)
	for _, name := range segments {
		info, err := os.Stat(name)
		if err == nil {
			total += info.Size()
		} else {
			require.ErrorIs(t, err, fs.ErrNotExist)
		}
	}
	return total
}

// TestKafkaBrokerKilled is like TestKafka, but kills and restarts a real broker while items are
// sent. All acknowledged items arrive.
func TestKafkaBrokerKilled(t *testing.T) {
	b := newBroker(t)
	t.Setenv("STEF_KAFKA", b.address)
	names, n := topics(t), total(t)
	h, group := newHost(t), names["logs"]
	to := newSink(t)
	first := startConsumers(t, h, receiverConfig(t, b.address, names, group), to)
	second := startConsumers(t, h, receiverConfig(t, b.address, names, group), to)

	p := startProducers(t, h, exporterConfig(t, b.address, names, "stef_encoding"))
	var restarted func()
	for sent := 0; sent < n; sent += batchItems {
		switch sent {
		case n / 3 / batchItems * batchItems:
			restarted = b.killAndRestart(t)
		case 2 * n / 3 / batchItems * batchItems:
			first.stop(t)
			first = startConsumers(t, h, receiverConfig(t, b.address, names, group), to)
		}
		p.send(t, sent, min(batchItems, n-sent))
	}
	restarted()
	requireAll(t, to.ledgers, n)
	first.stop(t)
	second.stop(t)
	p.stop(t)
}

// TestKafkaCost sends the recordings of the repository through a broker: as STEF, and as otlp_proto
// that the producer compresses with zstd. It prints the bytes on the broker's disk and the CPU time
// of exporter, broker and receiver. The exporter sends everything before the receiver reads.
// The CPU time for starting and for creating topics is not counted: a first round of the recordings
// is sent before the measurement.
func TestKafkaCost(t *testing.T) {
	newBroker(t).kill(t) // skips the test if STEF_KAFKA_LIB is not set
	rounds := max(1, total(t)/10_000)
	for _, way := range []struct{ encoding, compression string }{{"stef_encoding", "none"}, {"otlp_proto", "zstd"}} {
		t.Run(way.encoding, func(t *testing.T) {
			b := newBroker(t)
			names, h := topics(t), newHost(t)
			p := startProducers(t, h, configure(t, kafkaexporter.NewFactory().CreateDefaultConfig(), fmt.Sprintf(`
brokers: [%q]
logs: {topic: %s, encoding: %s}
traces: {topic: %s, encoding: %s}
metrics: {topic: %s, encoding: %s}
producer: {compression: %s, allow_auto_topic_creation: true}
sending_queue: {enabled: false}
`, b.address, names["logs"], way.encoding, names["traces"], way.encoding, names["metrics"], way.encoding, way.compression)))
			consumeAll(t, h, b, names, way.encoding, p.sendRecordings(t, 1))
			first, idle := map[string]int64{}, b.running(t)
			time.Sleep(2 * time.Second)
			idle = b.running(t) - idle
			for _, name := range names {
				first[name] = b.bytes(t, name)
			}

			began, before, broker := time.Now(), processCPU(t), b.running(t)
			items := p.sendRecordings(t, rounds)
			producer, produced := processCPU(t)-before, b.running(t)-broker
			p.stop(t)

			before = processCPU(t)
			consumeAll(t, h, b, names, way.encoding, items)
			consumer := processCPU(t) - before
			broker, took := b.running(t)-broker, time.Since(began)
			all := 0
			for _, signal := range []string{"traces", "metrics", "logs"} {
				t.Logf("%s, %s: %.1f bytes an item on the disk of the broker, %d items", way.encoding, signal,
					float64(b.bytes(t, names[signal])-first[names[signal]])/float64(items[signal]), items[signal])
				all += items[signal]
			}
			item := func(cpu time.Duration) float64 { return float64(cpu.Microseconds()) / float64(all) }
			t.Logf("%s: CPU of an item: producer %.2f µs, consumer %.2f µs, broker %.2f µs (%.2f µs of it while the producer sends)", way.encoding,
				item(producer), item(consumer), item(broker), item(produced))
			t.Logf("%s: the broker took %.2f s of CPU in %.1f s; without items it takes %.1f ms a second", way.encoding,
				broker.Seconds(), took.Seconds(), float64(idle.Milliseconds())/2)
			b.kill(t)
		})
	}
}

// running returns the CPU time of the broker since its last start.
func (b *kafkaBroker) running(t *testing.T) time.Duration {
	t.Helper()
	return runningCPU(t, b.process.Process.Pid)
}

// sendRecordings sends the recordings of the repository, in the batches in which they were recorded, and
// returns the number of items of each signal. Each message can be decoded without other messages, so the
// same batch has the same size in every round.
func (p *producers) sendRecordings(t *testing.T, rounds int) map[string]int {
	t.Helper()
	items := map[string]int{}
	each := func(file []byte, send func(part []byte)) {
		parts, err := fixtures.Parts(file)
		require.NoError(t, err)
		for range rounds {
			for _, part := range parts {
				send(part)
			}
		}
	}
	each(fixtures.Logs(), func(part []byte) {
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(part)
		require.NoError(t, err)
		items["logs"] += ld.LogRecordCount()
		require.NoError(t, p.logs.ConsumeLogs(t.Context(), ld))
	})
	each(fixtures.Traces(), func(part []byte) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(part)
		require.NoError(t, err)
		items["traces"] += td.SpanCount()
		require.NoError(t, p.traces.ConsumeTraces(t.Context(), td))
	})
	each(fixtures.Metrics(), func(part []byte) {
		md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(part)
		require.NoError(t, err)
		items["metrics"] += md.DataPointCount()
		require.NoError(t, p.metrics.ConsumeMetrics(t.Context(), md))
	})
	return items
}

// consumeAll reads the topics from the last position of the group to their end.
func consumeAll(t *testing.T, h host, b *kafkaBroker, names map[string]string, encoding string, items map[string]int) {
	t.Helper()
	f := kafkareceiver.NewFactory()
	config := configure(t, f.CreateDefaultConfig(), fmt.Sprintf(`
brokers: [%q]
group_id: %s
initial_offset: earliest
logs: {topics: [%s], encoding: %s}
traces: {topics: [%s], encoding: %s}
metrics: {topics: [%s], encoding: %s}
`, b.address, names["logs"], names["logs"], encoding, names["traces"], encoding, names["metrics"], encoding))
	got := newCounter(t)
	settings := receivertest.NewNopSettings(f.Type())
	logs, err := f.CreateLogs(t.Context(), settings, config, got.logs)
	require.NoError(t, err)
	traces, err := f.CreateTraces(t.Context(), settings, config, got.traces)
	require.NoError(t, err)
	metrics, err := f.CreateMetrics(t.Context(), settings, config, got.metrics)
	require.NoError(t, err)
	all := consumers{logs, traces, metrics}
	for _, c := range all {
		require.NoError(t, c.Start(context.Background(), h))
	}
	want := int64(items["logs"] + items["traces"] + items["metrics"])
	require.Eventually(t, func() bool { return got.items.Load() == want }, time.Minute, 20*time.Millisecond)
	all.stop(t)
}

func processCPU(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
