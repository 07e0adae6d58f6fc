// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"bytes"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelstef/stef/internal/freeport"
)

const examples = "../../extension/stefencodingextension/examples"

// builds has the folder for the programs that tests build, and the path of each built program by
// its name.
var builds = struct {
	dir    string
	binary map[string]string
}{binary: map[string]string{}}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(builds.dir)
	os.Exit(code)
}

// build builds a program once for all tests: linking takes seconds. Tests that use it run one
// after another.
func build(t *testing.T, folder, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program: the Collector has 100 MB")
	}
	if builds.binary[name] != "" {
		return builds.binary[name]
	}
	if builds.dir == "" {
		dir, err := os.MkdirTemp("", "enginetest")
		require.NoError(t, err)
		builds.dir = dir
	}
	binary := filepath.Join(builds.dir, name)
	command := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, ".")
	command.Dir = folder
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	builds.binary[name] = binary
	return binary
}

// collectorBinary returns the Collector of the deployment.
func collectorBinary(t *testing.T) string {
	t.Helper()
	return build(t, "collector", "collector")
}

type process struct {
	name    string
	command *exec.Cmd
	log     string
	ended   <-chan struct{}
	started time.Duration // CPU time that the start took
}

// start starts an example. It waits until the address accepts connections, unless address
// is empty, and until the log says that the Collector is ready.
func start(t *testing.T, binary, example, address string, env ...string) *process {
	t.Helper()
	return startWith(t, binary, example, "", address, env...)
}

// startWith is like start. The keys of a text in YAML replace those of the example.
func startWith(t *testing.T, binary, example, keys, address string, env ...string) *process {
	t.Helper()
	p := &process{name: example, command: exec.Command(binary, "--config", filepath.Join(examples, example+".yaml"))}
	p.command.Env = append(os.Environ(), env...)
	p.log = filepath.Join(t.TempDir(), "log")
	if keys != "" {
		file := filepath.Join(t.TempDir(), "keys.yaml")
		require.NoError(t, os.WriteFile(file, []byte(keys), 0o600))
		p.command.Args = append(p.command.Args, "--config", file)
	}
	log, err := os.Create(p.log)
	require.NoError(t, err)
	defer log.Close()
	p.command.Stderr = log
	require.NoError(t, p.command.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.command.Wait() // p.command.ProcessState has the result, too
	}()
	p.ended = ended
	t.Cleanup(func() {
		_ = p.command.Process.Kill() // an error means that the process has ended
		<-p.ended
		if t.Failed() {
			text, _ := os.ReadFile(p.log)
			t.Logf("%s: %s", p.name, text)
		}
	})
	if address != "" {
		require.Eventually(t, func() bool {
			select {
			case <-p.ended:
				require.FailNow(t, "the Collector ended", example)
			default:
			}
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
			}
			return err == nil
		}, time.Minute, 50*time.Millisecond, "%s does not listen", example)
	}
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(p.log)
		return err == nil && bytes.Contains(text, []byte("Everything is ready"))
	}, time.Minute, 50*time.Millisecond, "%s does not start", example)
	p.started = runningCPU(t, p.command.Process.Pid)
	return p
}

func runningCPU(t *testing.T, pid int) time.Duration {
	t.Helper()
	cpu, err := readCPU(pid)
	require.NoError(t, err)
	return cpu
}

// readCPU is like runningCPU, but can also be called outside the goroutine of a test. It reads
// /proc and returns 0 on systems without /proc.
func readCPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, nil
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the fields after the name of the program
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / 100, err // the kernel reports CPU time in hundredths of a second
}

// stop asks a process to end and waits until it has ended without an error.
func (p *process) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGTERM))
	<-p.ended
	require.True(t, p.command.ProcessState.Success(), "%s: %v", p.name, p.command.ProcessState)
}

// printCost prints the cost of ended processes by name: the CPU time of their starts, the rest of
// their CPU time, and the largest memory of one process. items has, for each name, how many items
// passed through all processes of this name.
func printCost(t *testing.T, processes []*process, items map[string]int) {
	t.Helper()
	names := []string{}
	cpu, started, memory, number := map[string]time.Duration{}, map[string]time.Duration{}, map[string]int64{}, map[string]int{}
	for _, p := range processes {
		state := p.command.ProcessState
		if number[p.name] == 0 {
			names = append(names, p.name)
		}
		number[p.name]++
		started[p.name] += p.started
		cpu[p.name] += state.UserTime() + state.SystemTime() - p.started
		memory[p.name] = max(memory[p.name], state.SysUsage().(*syscall.Rusage).Maxrss>>10)
	}
	for _, name := range names {
		t.Logf("%d %-16s %5.2f s of CPU for their start, %5.2f s for the items, %.2f µs an item, %d MiB at most in one", number[name], name,
			started[name].Seconds(), cpu[name].Seconds(), float64(cpu[name].Microseconds())/float64(items[name]), memory[name])
	}
}

// TestExamples validates every example. It runs the examples of the reference deployment as
// processes (agent, gateway and consumer), with a broker in this process, and sends STEF and
// OTLP to them. TestArchive runs the other examples.
func TestExamples(t *testing.T) {
	binary := collectorBinary(t)
	files, err := filepath.Glob(examples + "/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 6, "each example is to be run by a test")
	for _, file := range files {
		command := exec.Command(binary, "validate", "--config", file)
		command.Env = append(os.Environ(), "S3=http://localhost:1", "ARCHIVE="+t.TempDir(), "FROM=2026-01-01", "TO=2026-01-02")
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", file, out)
	}

	const n = 2000
	to, names := newSink(t), map[string]string{}
	for _, signal := range []string{"logs", "traces", "metrics"} {
		names[signal] = "examples-" + signal
	}
	kafka := "KAFKA=" + broker(t, names)
	agent, gateway := freeport.Address(t), freeport.Address(t)
	processes := []*process{
		start(t, binary, "consumer", "", kafka, "TOPIC=examples", "BACKEND="+to.address),
		start(t, binary, "gateway", gateway, kafka, "TOPIC=examples", "GATEWAY="+gateway),
		start(t, binary, "agent", agent, "GATEWAY="+gateway, "AGENT="+agent),
	}
	toAgent, _ := startOTLP(t, agent)
	toGateway, _ := startOTLP(t, gateway)
	from := []*producers{startSenders(t, agent), toAgent, toGateway}
	for round := range n / batchItems {
		from[round%len(from)].send(t, round*batchItems, batchItems)
	}
	requireAll(t, to.ledgers, n)
	for _, p := range from {
		p.stop(t)
	}
	for i := len(processes) - 1; i >= 0; i-- {
		processes[i].stop(t)
	}
}

// TestConsumerContinues sends messages to the example consumer.yaml while its backend is unavailable for
// longer than its exporter retries. The Kafka receiver must read the failed message again. Without
// error_backoff, it would stop reading the partition until the Collector is restarted, even after the
// backend is available again.
func TestConsumerContinues(t *testing.T) {
	binary, names, backend := collectorBinary(t), map[string]string{}, freeport.Address(t)
	for _, signal := range []string{"logs", "traces", "metrics"} {
		names[signal] = "continues-" + signal
	}
	kafka := "KAFKA=" + broker(t, names)
	consumer := startWith(t, binary, "consumer", `
exporters:
  stef: {timeout: 200ms, stef: {flush_interval: 10ms}, retry_on_failure: {initial_interval: 100ms, max_interval: 100ms, max_elapsed_time: 500ms}}
receivers:
  kafka: {error_backoff: {initial_interval: 100ms, max_interval: 100ms, max_elapsed_time: 2s}}
`, "", kafka, "TOPIC=continues", "BACKEND="+backend)
	gateway := freeport.Address(t)
	start(t, binary, "gateway", gateway, kafka, "TOPIC=continues", "GATEWAY="+gateway)
	from := startSenders(t, gateway)
	from.send(t, 0, 100)
	time.Sleep(5 * time.Second) // all retries end

	to := newSinkAt(t, backend)
	requireAll(t, to.ledgers, 100)
	from.stop(t)
	consumer.stop(t)
}

// TestExamplesKeepItems checks keys of the examples whose defaults would lose items. STEF exporters
// would give up a batch after five minutes, even if their queue has space. A Kafka exporter would
// acknowledge messages that only one broker has.
func TestExamplesKeepItems(t *testing.T) {
	files, err := filepath.Glob(examples + "/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		retrieved, err := confmap.NewRetrievedFromYAML(text)
		require.NoError(t, err, file)
		conf, err := retrieved.AsConf()
		require.NoError(t, err, file)
		if conf.IsSet("exporters::stef") {
			require.Equal(t, "0s", conf.Get("exporters::stef::retry_on_failure::max_elapsed_time"), file)
		}
		if conf.IsSet("exporters::kafka") {
			require.Equal(t, -1, conf.Get("exporters::kafka::producer::required_acks"), file)
		}
	}
}

// TestArchive runs the example archive.yaml, which writes files and objects. The file tool reads
// all of them, the example follower.yaml reads the files, and restore.yaml reads the objects, also
// on a machine with another time zone.
func TestArchive(t *testing.T) {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("telemetry"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	dir, address, binary := t.TempDir(), freeport.Address(t), collectorBinary(t)
	objects := []string{"S3=" + server.URL, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"}
	began := time.Now()
	p := start(t, binary, "archive", address, append(objects, "GATEWAY="+address, "ARCHIVE="+dir, "TZ=Asia/Tokyo")...)
	from := startSenders(t, address)
	from.send(t, 0, 1000)
	from.stop(t)
	p.stop(t)
	printCost(t, []*process{p}, map[string]int{"archive": 3000})

	tool, archived := stefBinary(t), saveObjects(t, backend)
	require.Len(t, archived, 2)
	archived["logs"], archived["metrics in a file"] = []string{filepath.Join(dir, "logs.stef")}, []string{filepath.Join(dir, "metrics.stef")}
	for name, files := range archived {
		signal, _, _ := strings.Cut(name, " ")
		l := newLedger()
		tool.read(t, signal, l, files...)
		requireOnce(t, l, 1000, name)
	}

	to := newSink(t)
	follower := start(t, binary, "follower", "", "ARCHIVE="+dir, "BACKEND="+to.address)
	for _, signal := range []string{"logs", "metrics"} {
		require.Eventually(t, func() bool { return to.ledgers[signal].missing(1000) == 0 }, time.Minute, 50*time.Millisecond, signal)
	}
	follower.stop(t)
	for _, signal := range []string{"logs", "metrics"} {
		requireOnce(t, to.ledgers[signal], 1000, signal)
	}

	to = newSink(t)
	restore := start(t, binary, "restore", "", append(objects, "BACKEND="+to.address, "TZ=America/New_York",
		"FROM="+began.Truncate(time.Minute).Format(time.RFC3339), "TO="+time.Now().Add(time.Minute).Format(time.RFC3339))...)
	for _, signal := range []string{"traces", "metrics"} {
		require.Eventually(t, func() bool { return to.ledgers[signal].missing(1000) == 0 }, time.Minute, 50*time.Millisecond, signal)
	}
	restore.stop(t)
	for _, signal := range []string{"traces", "metrics"} {
		requireOnce(t, to.ledgers[signal], 1000, signal)
	}
}

// TestReadmeConfigurations validates the complete configurations of the extension's README
// with a Collector that has their components. The Collector also builds the pipelines.
func TestReadmeConfigurations(t *testing.T) {
	binary := collectorBinary(t)
	readme, err := os.ReadFile("../../extension/stefencodingextension/README.md")
	require.NoError(t, err)
	validate := func(text string) (string, error) {
		file := filepath.Join(t.TempDir(), "config.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		out, err := exec.Command(binary, "validate", "--config", file).CombinedOutput()
		return string(out), err
	}
	loaded := 0
	for _, block := range strings.Split(string(readme), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if strings.Contains(text, "gomod:") {
			continue // a manifest, which internal/docs checks
		}
		if strings.Contains(text, "format: proto") {
			require.Contains(t, text, "rotation:", "the file exporter would empty its file at each start")
		}
		out, err := validate(text)
		require.NoError(t, err, "%s\n%s", text, out)
		// Validation covers every component: a misspelt key of any component is an error.
		for _, key := range []string{"encoding: stef_encoding", "on_permanent_error", "s3uploader", "encodings", "format: proto"} {
			if strings.Contains(text, key) {
				_, err := validate(strings.Replace(text, key, "x"+key, 1))
				require.Error(t, err, key)
				loaded++
			}
		}
	}
	require.Equal(t, 6, loaded, "two blocks, with their keys")
}

// TestDeployment runs a small reference deployment, with a process for each part: two agents,
// two gateways, a broker, and two consumers of one group. Items are sent as STEF to an agent,
// as OTLP to the other agent, and as OTLP to a gateway. After a third of the items, the broker is
// killed and restarted. Later, a consumer is killed and replaced. All accepted items arrive at the
// backend.
func TestDeployment(t *testing.T) {
	b := newBroker(t)
	binary, n, to := collectorBinary(t), total(t), newSink(t)
	topic := "otel" + fmt.Sprint(time.Now().UnixNano())
	common := []string{"KAFKA=" + b.address, "TOPIC=" + topic, "GROUP=" + topic, "BACKEND=" + to.address}
	run := func(name, example, address string, env ...string) *process {
		p := start(t, binary, example, address, append(env, common...)...)
		p.name = name
		return p
	}
	stefGateway, otlpGateway, stefAgent, otlpAgent := freeport.Address(t), freeport.Address(t), freeport.Address(t), freeport.Address(t)
	killed := run("consumer", "consumer", "")
	processes := []*process{
		run("consumer", "consumer", ""),
		run("gateway, STEF in", "gateway", stefGateway, "GATEWAY="+stefGateway),
		run("gateway, OTLP in", "gateway", otlpGateway, "GATEWAY="+otlpGateway),
		run("agent, STEF in", "agent", stefAgent, "AGENT="+stefAgent, "GATEWAY="+stefGateway),
		run("agent, OTLP in", "agent", otlpAgent, "AGENT="+otlpAgent, "GATEWAY="+stefGateway),
	}

	var accepted atomic.Int64
	toAgent, agentRetries := startOTLP(t, otlpAgent)
	toGateway, gatewayRetries := startOTLP(t, otlpGateway)
	feeds := []*feed{
		newFeed(t, startSenders(t, stefAgent), 1, &accepted),
		newFeed(t, toAgent, 4, &accepted),
		newFeed(t, toGateway, 16, &accepted), // the gateway acknowledges items that are in Kafka
	}
	began := time.Now()
	processes = append(processes, feedThroughFailures(t, b, to, feeds, &accepted, killed, func() *process { return run("consumer", "consumer", "") }))
	for _, f := range feeds {
		f.wait(t)
	}
	took := time.Since(began)
	requireAll(t, to.ledgers, n)
	t.Logf("%d items of three signals were accepted in %.1f s and had all arrived after %.1f s", 3*n, took.Seconds(), time.Since(began).Seconds())
	t.Logf("%d items were sent as STEF to an agent, %d as OTLP to an agent (%d requests again), %d as OTLP to a gateway (%d requests again)",
		3*feeds[0].items, 3*feeds[1].items, agentRetries.retried.Load(), 3*feeds[2].items, gatewayRetries.retried.Load())
	for _, signal := range []string{"traces", "metrics", "logs"} {
		t.Logf("%s: %.2f bytes an item on the disk of the broker", signal, float64(b.bytes(t, topic+"-"+signal))/float64(n))
	}
	for _, f := range feeds {
		f.to.stop(t)
	}
	for i := len(processes) - 1; i >= 0; i-- {
		processes[i].stop(t)
	}
	printCost(t, append(processes, killed), map[string]int{
		"agent, STEF in": 3 * feeds[0].items, "agent, OTLP in": 3 * feeds[1].items, "consumer": 3 * n,
		"gateway, STEF in": 3 * (feeds[0].items + feeds[1].items), "gateway, OTLP in": 3 * feeds[2].items,
	})
	b.kill(t)
	t.Logf("2 starts of the broker %5.2f s of CPU, %5.2f s for the items, %.2f µs an item",
		b.started.Seconds(), (b.cpu - b.started).Seconds(), float64((b.cpu-b.started).Microseconds())/float64(3*n))
}

// feedThroughFailures sends all items. After a third of the items, it kills and restarts the
// broker. After five sixths, it kills a consumer and starts another consumer, which it returns.
// Before each kill it waits until the backend receives items.
func feedThroughFailures(t *testing.T, b *kafkaBroker, to *sink, feeds []*feed, accepted *atomic.Int64, killed *process, consumer func() *process) (started *process) {
	t.Helper()
	n := total(t)
	arrived := func() (all int64) {
		for _, l := range to.ledgers {
			distinct, _ := l.distinct()
			all += int64(distinct)
		}
		return all
	}
	moreThan := func(before int64) {
		t.Helper()
		require.Eventually(t, func() bool { return arrived() > before }, 2*time.Minute, 10*time.Millisecond, "nothing arrives")
	}
	var restarted func()
	for sent, round := 0, 0; sent < n; sent, round = sent+batchItems, round+1 {
		switch sent {
		case n / 6 / batchItems * batchItems:
			moreThan(0)
		case n / 3 / batchItems * batchItems:
			t.Logf("the broker is killed when %d items were accepted and %d had arrived", accepted.Load(), arrived())
			restarted = b.killAndRestart(t)
		case 2 * n / 3 / batchItems * batchItems:
			restarted()
			moreThan(arrived())
		case 5 * n / 6 / batchItems * batchItems:
			t.Logf("a consumer is killed when %d items were accepted and %d had arrived", accepted.Load(), arrived())
			require.NoError(t, killed.command.Process.Kill())
			<-killed.ended
			started = consumer()
		}
		feeds[round%len(feeds)].send(sent, min(batchItems, n-sent))
	}
	return started
}
