// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const examples = "../../cmd/otelcol-stef/examples"

// printed matches what the debug exporter prints about a batch of logs.
var printed = regexp.MustCompile(`"log records": ([1-9][0-9]*)`)

// sumPrinted returns how many log records a Collector printed, and in how many lines.
func sumPrinted(t *testing.T, c *collector) (records, lines int) {
	t.Helper()
	for _, m := range printed.FindAllStringSubmatch(c.output.String(), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		records, lines = records+n, lines+1
	}
	return records, lines
}

// TestExamples starts the distribution with each of its examples. It changes only the ports.
// It sends data through the Collectors: from edge and agent to the gateway, and from the
// gateway to the sink.
func TestExamples(t *testing.T) {
	binary(t)
	files, err := filepath.Glob(examples + "/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 8, "each example is to be started here; TestFilesKilled starts files.yaml, TestExamplesWithTLS those with TLS")
	for _, file := range files {
		out, err := exec.Command(binary(t), "validate", "--config", file).CombinedOutput()
		require.NoError(t, err, "%s: %s", file, out)
	}
	s, gateway := newSink(t), address(t)
	begin := func(name string, env ...string) *collector {
		port := freePort(t)
		return run(t, name, filepath.Join(examples, name+".yaml"), port, append(env, fmt.Sprint("METRICS_PORT=", port))...)
	}
	begin("gateway", "GATEWAY="+gateway, "BACKEND="+s.address)
	for _, name := range []string{"agent", "edge"} {
		t.Run(name, func(t *testing.T) {
			entry := address(t)
			c := begin(name, "OTLP_GRPC="+entry, "OTLP_HTTP="+address(t), "GATEWAY="+gateway, "GATEWAYS="+gateway, "STORAGE="+t.TempDir())
			before, _, _ := s.counts()
			l := startLoad(t, entry, 20, 2)
			time.Sleep(time.Second)
			require.Eventually(t, func() bool { return l.acknowledged() > 0 }, time.Minute, 5*time.Millisecond)
			l.stop()
			_, accepted, _ := l.results()
			require.NotEmpty(t, accepted)
			require.Eventually(t, func() bool {
				logs, _, _ := s.counts()
				return logs-before >= len(accepted)
			}, time.Minute, 50*time.Millisecond)
			c.stop(t, time.Minute)
		})
	}
	t.Run("compare", func(t *testing.T) {
		entry := address(t)
		c := begin("compare", "OTLP_GRPC="+entry, "OTLP_HTTP="+address(t), "GATEWAY="+gateway, "DISCARD="+address(t))
		before, _, _ := s.counts()
		l := startLoad(t, entry, 20, 2)
		time.Sleep(time.Second)
		require.Eventually(t, func() bool { return l.acknowledged() > 0 }, time.Minute, 5*time.Millisecond)
		l.stop()
		_, accepted, _ := l.results()
		require.NotEmpty(t, accepted)
		of := func(exporter, metric string) float64 {
			total, _ := c.sum(t, metric, `exporter="`+exporter+`"`, `signal="logs"`)
			return total
		}
		for _, exporter := range []string{"stef", "stef/otlp"} {
			require.Eventually(t, func() bool {
				return of(exporter, "otelcol_exporter_stef_items_delivered") == float64(len(accepted))
			}, time.Minute, 50*time.Millisecond, exporter)
		}
		logs, _, _ := s.counts()
		require.Equal(t, len(accepted), logs-before, "only those of the exporter stef reach the backend")
		// The example contains the ratio of these two metrics. Each exporter counts only one of them.
		require.NotZero(t, of("stef", "otelcol_exporter_stef_bytes_compressed"))
		require.Zero(t, of("stef", "otelcol_exporter_stef_otlp_bytes_compressed"))
		require.NotZero(t, of("stef/otlp", "otelcol_exporter_stef_otlp_bytes_compressed"))
		require.Zero(t, of("stef/otlp", "otelcol_exporter_stef_bytes_compressed"))
		c.stop(t, time.Minute)
	})
	t.Run("backend", func(t *testing.T) {
		entry, exit := address(t), address(t)
		backend := begin("backend", "GATEWAY="+exit)
		begin("agent", "OTLP_GRPC="+entry, "OTLP_HTTP="+address(t), "GATEWAY="+exit)
		l := startLoad(t, entry, 20, 2)
		// By default the Collector drops equal log lines after the first ten. More than twelve
		// lines show that the example changes this.
		require.Eventually(t, func() bool {
			_, lines := sumPrinted(t, backend)
			return lines > 12
		}, time.Minute, 50*time.Millisecond)
		l.stop()
		_, accepted, _ := l.results()
		// The agent may join requests, so only the sum of the lines is known.
		require.Eventually(t, func() bool {
			records, _ := sumPrinted(t, backend)
			return records == len(accepted)
		}, time.Minute, 50*time.Millisecond)
	})
}

// batchesBeforeKept returns the pipelines that lose acknowledged data when the Collector is killed,
// because their batch processor holds this data in memory. It ignores pipelines whose exporters
// have a queue in memory. An exporter with a queue on disk keeps the data, and without a queue the
// senders wait for the backend.
func batchesBeforeKept(t *testing.T, text []byte) (found []string) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML(text)
	require.NoError(t, err)
	config, err := retrieved.AsConf()
	require.NoError(t, err)
	list := func(key string) (names []string) {
		values, _ := config.Get(key).([]any)
		for _, v := range values {
			names = append(names, v.(string))
		}
		return names
	}
	all, _ := config.Get("service::pipelines").(map[string]any)
	require.NotEmpty(t, all)
	for name := range all {
		batch, kept := false, false
		for _, p := range list("service::pipelines::" + name + "::processors") {
			batch = batch || p == "batch" || strings.HasPrefix(p, "batch/")
		}
		for _, e := range list("service::pipelines::" + name + "::exporters") {
			queue := "exporters::" + e + "::sending_queue::"
			kept = kept || config.Get(queue+"storage") != nil || config.Get(queue+"enabled") == false
		}
		if batch && kept {
			found = append(found, name)
		}
	}
	return found
}

func TestExamplesKeepWhatIsAcknowledged(t *testing.T) {
	const pipeline = "\nservice: {pipelines: {logs: {receivers: [otlp], processors: [memory_limiter, %s], exporters: [stef]}}}"
	f := func(want int, queue, processor string) {
		t.Helper()
		require.Len(t, batchesBeforeKept(t, fmt.Appendf(nil, "exporters: {stef: {sending_queue: {%s}}}"+pipeline, queue, processor)), want)
	}
	f(1, "storage: file_storage", "batch")
	f(1, "enabled: false", "batch/large")
	f(0, "storage: file_storage", "batcher")
	f(0, "queue_size: 5", "batch")

	for _, folder := range []string{examples, "../../extension/stefencodingextension/examples"} {
		files, err := filepath.Glob(folder + "/*.yaml")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Empty(t, batchesBeforeKept(t, text), file)
		}
	}
}

// TestEdgeKilled kills an agent with the example edge.yaml. At this time its last requests are
// in batches that are not full, and the gateway does not run. All acknowledged records arrive
// after the restart.
func TestEdgeKilled(t *testing.T) {
	binary(t)
	s, gateway, entry, storage := newSink(t), address(t), address(t), t.TempDir()
	begin := func(name string) *collector {
		port := freePort(t)
		return run(t, name, filepath.Join(examples, name+".yaml"), port, fmt.Sprint("METRICS_PORT=", port),
			"OTLP_GRPC="+entry, "GATEWAY="+gateway, "GATEWAYS="+gateway, "STORAGE="+storage, "BACKEND="+s.address)
	}
	edge := begin("edge")
	l := startLoad(t, entry, 50, 2)
	require.Eventually(t, func() bool { return l.acknowledged() > 0 }, time.Minute, 5*time.Millisecond)
	time.Sleep(500 * time.Millisecond) // less than the time that a batch waits for more records
	edge.kill()
	l.stop()
	offered, accepted, _ := l.results()

	begin("gateway")
	edge = begin("edge")
	require.Eventually(t, func() bool {
		missing, _ := s.missing(accepted)
		return missing == 0
	}, time.Minute, 50*time.Millisecond)
	edge.stop(t, time.Minute)
	require.Zero(t, s.invented(offered))
	_, twice := s.missing(accepted)
	t.Logf("%d acknowledged records arrived, %d of them twice", len(accepted), twice)
}

// certificateCommands returns the block of the examples' README that makes certificates and a
// token in .tmp/certs.
func certificateCommands(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examples, "README.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Certificates")
	_, block, _ := strings.Cut(section, "\n```sh\n")
	commands, _, found := strings.Cut(block, "\n```\n")
	require.True(t, found)
	return commands
}

// TestExamplesWithTLS starts the examples with certificates and a token that the commands of
// the examples' README make. The gateway refuses clients without a certificate or a token.
// Everything arrives, although the token changes while agent and gateway run: first the gateway
// accepts both tokens, then the agent uses the new token, then the gateway accepts only the new.
func TestExamplesWithTLS(t *testing.T) {
	binary(t)
	s, gateway, entry, dir := newSink(t), address(t), address(t), t.TempDir()
	issue := exec.Command("bash", "-euo", "pipefail", "-c", certificateCommands(t))
	issue.Dir = dir
	out, err := issue.CombinedOutput()
	require.NoError(t, err, "%s", out)
	ofGateway, ofAgent := filepath.Join(dir, ".tmp/certs/gateway"), filepath.Join(dir, ".tmp/certs/agent")
	token, err := os.ReadFile(filepath.Join(ofAgent, "token"))
	require.NoError(t, err)
	first := strings.TrimSpace(string(token))
	require.NotEmpty(t, first)
	write := func(dir, tokens string) {
		path := filepath.Join(dir, "token")
		require.NoError(t, os.WriteFile(path+".new", []byte(tokens), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	begin := func(name, certs string, env ...string) *collector {
		port := freePort(t)
		return run(t, name, filepath.Join(examples, name+".yaml"), port,
			append(env, fmt.Sprint("METRICS_PORT=", port), "CERTS="+certs, "GATEWAY="+gateway)...)
	}
	g := begin("tls-gateway", ofGateway, "BACKEND="+s.address)
	begin("tls-agent", ofAgent, "OTLP_GRPC="+entry, "OTLP_HTTP="+address(t), "STORAGE="+t.TempDir())
	l := startLoad(t, entry, 20, 2)
	require.Eventually(t, func() bool { once, _, _ := s.numbered(); return once > 0 }, time.Minute, 20*time.Millisecond)

	pair, err := tls.LoadX509KeyPair(filepath.Join(ofAgent, "cert.pem"), filepath.Join(ofAgent, "key.pem"))
	require.NoError(t, err)
	ca, err := os.ReadFile(filepath.Join(ofAgent, "ca.pem"))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(ca))
	// answer sends a request with a token and an optional client certificate. It returns the status
	// code.
	answer := func(token string, own ...tls.Certificate) codes.Code {
		conn, err := grpc.NewClient(gateway, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: own})))
		require.NoError(t, err)
		defer conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err = plogotlp.NewGRPCClient(conn).Export(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), plogotlp.NewExportRequest())
		return status.Code(err)
	}
	require.Equal(t, codes.OK, answer(first, pair))
	require.Equal(t, codes.Unauthenticated, answer("second", pair))
	require.Equal(t, codes.Unavailable, answer(first), "without a certificate")
	// All signals share the server, so the log lines of the server name no signal.
	for _, start := range []string{"A client was refused", "A client could not connect"} {
		var line string
		require.Eventually(t, func() bool {
			line = regexp.MustCompile(".*" + start + ".*\n").FindString(g.output.String())
			return line != ""
		}, time.Minute, 10*time.Millisecond, start)
		require.NotContains(t, line, "otelcol.signal")
	}

	write(ofGateway, first+"\nsecond\n")
	require.Eventually(t, func() bool { return answer("second", pair) == codes.OK && answer(first, pair) == codes.OK }, time.Minute, 50*time.Millisecond)
	write(ofAgent, "second")
	time.Sleep(500 * time.Millisecond)
	write(ofGateway, "second")
	require.Eventually(t, func() bool { return answer(first, pair) == codes.Unauthenticated }, time.Minute, 50*time.Millisecond)
	g.kill() // the streams of the agent end, and the agent opens new streams
	write(ofGateway, "third")
	g = begin("tls-gateway", ofGateway, "BACKEND="+s.address)
	require.Eventually(t, func() bool { return strings.Contains(g.output.String(), "A client was refused") }, time.Minute, 50*time.Millisecond)
	time.Sleep(2 * time.Second) // the agent keeps the data that the gateway refuses
	write(ofGateway, "second")
	require.Eventually(t, func() bool { return answer("second", pair) == codes.OK }, time.Minute, 50*time.Millisecond)
	l.stop()
	_, accepted, _ := l.results()
	require.Eventually(t, func() bool { missing, _ := s.missing(accepted); return missing == 0 }, time.Minute, 50*time.Millisecond)
}
