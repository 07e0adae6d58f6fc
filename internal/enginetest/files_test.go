// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/awss3exporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/awss3receiver"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/receiver/steffilereceiver"
)

// Components use the extension through these interfaces.
type (
	marshalLogs   interface{ plog.Marshaler }
	marshalTraces interface{ ptrace.Marshaler }
)

var signals = []string{"logs", "traces", "metrics"}

type otlpProto struct{}

func (otlpProto) UnmarshalLogs(b []byte) (plog.Logs, error) {
	return (&plog.ProtoUnmarshaler{}).UnmarshalLogs(b)
}

func (otlpProto) UnmarshalTraces(b []byte) (ptrace.Traces, error) {
	return (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(b)
}

func (otlpProto) UnmarshalMetrics(b []byte) (pmetric.Metrics, error) {
	return (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(b)
}

// unmarshal counts the items of a message of a signal.
func (l *ledger) unmarshal(t *testing.T, signal string, unmarshaler any, message []byte) {
	t.Helper()
	switch signal {
	case "logs":
		ld, err := unmarshaler.(plog.Unmarshaler).UnmarshalLogs(message)
		require.NoError(t, err)
		require.NoError(t, l.logs(t).ConsumeLogs(t.Context(), ld))
	case "traces":
		td, err := unmarshaler.(ptrace.Unmarshaler).UnmarshalTraces(message)
		require.NoError(t, err)
		require.NoError(t, l.traces(t).ConsumeTraces(t.Context(), td))
	default:
		md, err := unmarshaler.(pmetric.Unmarshaler).UnmarshalMetrics(message)
		require.NoError(t, err)
		require.NoError(t, l.metrics(t).ConsumeMetrics(t.Context(), md))
	}
}

// sendNoise sends numbered items of each signal. The content of the items does not compress.
func (p *producers) sendNoise(t *testing.T, first, n int, noise *rand.Rand) {
	t.Helper()
	add := func(attributes pcommon.Map) {
		value := make([]byte, 400)
		for k := range value {
			value[k] = byte(noise.Uint32())
		}
		attributes.PutEmptyBytes("noise").FromRaw(value)
	}
	ld, td, md := numberedLogs(first, n), numberedTraces(first, n), numberedMetrics(first, n)
	for i := range n {
		add(ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(i).Attributes())
		add(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(i).Attributes())
		add(md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints().At(i).Attributes())
	}
	require.NoError(t, p.logs.ConsumeLogs(t.Context(), ld))
	require.NoError(t, p.traces.ConsumeTraces(t.Context(), td))
	require.NoError(t, p.metrics.ConsumeMetrics(t.Context(), md))
}

// TestFileExporter writes messages to files and reads them back. The file exporter writes the
// length of each message before the message. The whole messages of a truncated file are readable.
func TestFileExporter(t *testing.T) {
	h, dir := newHost(t), t.TempDir()
	p := rotatingFiles(t, h, dir)
	const batches, size = 20, 300
	for i := range batches {
		p.send(t, i*size, size)
	}
	p.stop(t)
	for _, signal := range signals {
		file, err := os.ReadFile(filepath.Join(dir, signal, "items.stef"))
		require.NoError(t, err)
		read := func(file []byte) (items int) {
			l := newLedger()
			readMessages(t, h, signal, file, l)
			distinct, duplicates := l.distinct()
			require.Zero(t, duplicates)
			return distinct
		}
		require.Equal(t, batches*size, read(file), signal)
		last := 0
		for cut := 0; cut < len(file); cut += 41 {
			got := read(file[:cut])
			require.GreaterOrEqual(t, got, last)
			require.Zero(t, got%size)
			last = got
		}
		require.Equal(t, (batches-1)*size, last, signal)
	}
}

// readMessages reads a file of the file exporter, in which the length of each message
// precedes the message. readMessages stops at an incomplete message.
func readMessages(t *testing.T, h host, signal string, file []byte, to *ledger) {
	t.Helper()
	for len(file) >= 4 {
		length := int(binary.BigEndian.Uint32(file))
		if len(file) < 4+length {
			return
		}
		to.unmarshal(t, signal, h[component.MustNewID("stef_encoding")], file[4:4+length])
		file = file[4+length:]
	}
}

// rotatingFiles starts a file exporter for each signal. Each exporter rotates its file in its own
// folder below dir.
func rotatingFiles(t *testing.T, h host, dir string) *producers {
	t.Helper()
	f, p := fileexporter.NewFactory(), new(producers)
	settings := exportertest.NewNopSettings(f.Type())
	config := func(signal string) component.Config {
		return configure(t, f.CreateDefaultConfig(), fmt.Sprintf(
			"{path: %q, create_directory: true, format: proto, encoding: stef_encoding, rotation: {max_megabytes: 1, max_backups: 100}}",
			filepath.Join(dir, signal, "items.stef")))
	}
	var err error
	p.logs, err = f.CreateLogs(t.Context(), settings, config("logs"))
	require.NoError(t, err)
	p.traces, err = f.CreateTraces(t.Context(), settings, config("traces"))
	require.NoError(t, err)
	p.metrics, err = f.CreateMetrics(t.Context(), settings, config("metrics"))
	require.NoError(t, err)
	p.start(t, h)
	return p
}

// requireOnce requires that each of the items 0 to n-1 arrived exactly once.
func requireOnce(t *testing.T, l *ledger, n int, signal string) {
	t.Helper()
	_, duplicates := l.distinct()
	require.Zero(t, duplicates, signal)
	require.Zero(t, l.missing(n), signal)
}

// TestFileExporterRotates: no message is split between files. Therefore the extension and the file
// tool can read each file of a rotation. All files together contain every item once.
func TestFileExporterRotates(t *testing.T) {
	h, dir := newHost(t), t.TempDir()
	p := rotatingFiles(t, h, dir)
	const batches, size = 400, 20
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range batches {
		p.sendNoise(t, i*size, size, noise)
	}
	p.stop(t)
	tool := stefBinary(t)
	for _, signal := range signals {
		files, err := filepath.Glob(filepath.Join(dir, signal, "*.stef"))
		require.NoError(t, err)
		require.Greater(t, len(files), 2, signal)
		l := newLedger()
		for _, name := range files {
			file, err := os.ReadFile(name)
			require.NoError(t, err)
			readMessages(t, h, signal, file, l)
		}
		requireOnce(t, l, batches*size, signal)

		l = newLedger()
		tool.read(t, signal, l, files...)
		requireOnce(t, l, batches*size, signal)
	}
}

// TestFollowFileExporter: the steffile receiver follows the files of the file exporter
// through their rotation, and delivers each item of each signal once.
func TestFollowFileExporter(t *testing.T) {
	h, dir := newHost(t), t.TempDir()
	got, rf := newLedgers(), steffilereceiver.NewFactory()
	settings := receivertest.NewNopSettings(rf.Type())
	config := configure(t, rf.CreateDefaultConfig(), fmt.Sprintf("{include: [%q], poll_interval: 10ms}", filepath.Join(dir, "*", "*.stef")))
	logs, err := rf.CreateLogs(t.Context(), settings, config, got["logs"].logs(t))
	require.NoError(t, err)
	traces, err := rf.CreateTraces(t.Context(), settings, config, got["traces"].traces(t))
	require.NoError(t, err)
	metrics, err := rf.CreateMetrics(t.Context(), settings, config, got["metrics"].metrics(t))
	require.NoError(t, err)
	follower := []component.Component{logs, traces, metrics}
	for _, c := range follower {
		require.NoError(t, c.Start(t.Context(), h))
	}

	p := rotatingFiles(t, h, dir)
	const batches, size = 400, 20
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range batches {
		p.sendNoise(t, i*size, size, noise)
		if i%20 == 0 {
			time.Sleep(20 * time.Millisecond) // so that the follower sees files before they rotate
		}
	}
	p.stop(t)
	for _, signal := range signals {
		require.Eventually(t, func() bool { return got[signal].missing(batches*size) == 0 }, time.Minute, 20*time.Millisecond, signal)
	}
	for _, c := range follower {
		require.NoError(t, c.Shutdown(context.Background()))
	}
	for _, signal := range signals {
		requireOnce(t, got[signal], batches*size, signal)
		files, err := filepath.Glob(filepath.Join(dir, signal, "*.stef"))
		require.NoError(t, err)
		require.Greater(t, len(files), 2, signal)
	}
}

// TestFileSizes prints the size of the recordings in files of the file exporter: as STEF, as OTLP
// protobuf with zstd, and as OTLP JSON with and without zstd. The exporter compresses each message
// separately.
func TestFileSizes(t *testing.T) {
	for _, format := range []string{
		"format: proto, encoding: stef_encoding",
		"format: proto, compression: zstd",
		"format: json, compression: zstd",
		"format: json",
	} {
		h, f, dir := newHost(t), fileexporter.NewFactory(), t.TempDir()
		p, settings := new(producers), exportertest.NewNopSettings(f.Type())
		config := func(signal string) component.Config {
			return configure(t, f.CreateDefaultConfig(), fmt.Sprintf("{path: %q, %s}", filepath.Join(dir, signal), format))
		}
		var err error
		p.logs, err = f.CreateLogs(t.Context(), settings, config("logs"))
		require.NoError(t, err)
		p.traces, err = f.CreateTraces(t.Context(), settings, config("traces"))
		require.NoError(t, err)
		p.metrics, err = f.CreateMetrics(t.Context(), settings, config("metrics"))
		require.NoError(t, err)
		p.start(t, h)
		items := p.sendRecordings(t, 1)
		p.stop(t)
		for _, signal := range []string{"traces", "metrics", "logs"} {
			info, err := os.Stat(filepath.Join(dir, signal))
			require.NoError(t, err)
			t.Logf("%-40s %-8s %7.1f bytes an item, %d items", format, signal, float64(info.Size())/float64(items[signal]), items[signal])
		}
	}
}

// TestObjectSizes prints the size of the recordings in objects of the S3 exporter: once with a
// recorded batch in each object, once with all batches in one object. OTLP objects are measured
// with each compression of the exporter. STEF objects are the smallest.
func TestObjectSizes(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for _, queue := range []struct{ name, config string }{
		{"as recorded", "{enabled: false}"},
		{"one object", "{sizer: items, queue_size: 1000000, batch: {flush_timeout: 1h, min_size: 1000000}}"},
	} {
		smallest := map[string]float64{}
		for _, format := range []struct{ marshaler, compression string }{
			{"encoding: stef_encoding", "none"},
			{"marshaler: otlp_proto", "none"}, {"marshaler: otlp_proto", "gzip"}, {"marshaler: otlp_proto", "zstd"},
			{"marshaler: otlp_json", "none"}, {"marshaler: otlp_json", "gzip"}, {"marshaler: otlp_json", "zstd"},
		} {
			objects, items := recordingsInObjects(t, format.marshaler, format.compression, queue.config)
			for _, signal := range []string{"traces", "metrics", "logs"} {
				size := float64(objects[signal].bytes) / float64(items[signal])
				t.Logf("%-11s  %-23s %-4s  %-7s %7.1f bytes an item, %d items in %d objects", queue.name, format.marshaler, format.compression,
					signal, size, items[signal], objects[signal].count)
				if smallest[signal] == 0 {
					smallest[signal] = size // STEF is measured first
					continue
				}
				require.Less(t, smallest[signal], size, "%s of %s", format, signal)
			}
		}
	}
}

type bucket struct {
	count int
	bytes int64
}

func recordingsInObjects(t *testing.T, marshaler, compression, queue string) (objects map[string]bucket, items map[string]int) {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("telemetry"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	h, f := newHost(t), awss3exporter.NewFactory()
	p, settings := new(producers), exportertest.NewNopSettings(f.Type())
	config := func(signal string) component.Config {
		return configure(t, f.CreateDefaultConfig(), fmt.Sprintf(`
%s
sending_queue: %s
s3uploader: {region: us-east-1, s3_bucket: telemetry, s3_prefix: %s, compression: %s, endpoint: %q, s3_force_path_style: true, disable_ssl: true}
`, marshaler, queue, signal, compression, server.URL))
	}
	var err error
	p.logs, err = f.CreateLogs(t.Context(), settings, config("logs"))
	require.NoError(t, err)
	p.traces, err = f.CreateTraces(t.Context(), settings, config("traces"))
	require.NoError(t, err)
	p.metrics, err = f.CreateMetrics(t.Context(), settings, config("metrics"))
	require.NoError(t, err)
	p.start(t, h)
	items = p.sendRecordings(t, 1)
	p.stop(t)
	list, err := backend.ListBucket("telemetry", nil, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	objects = map[string]bucket{}
	for _, object := range list.Contents {
		signal, _, _ := strings.Cut(object.Key, "/")
		b := objects[signal]
		objects[signal] = bucket{b.count + 1, b.bytes + object.Size}
	}
	return objects, items
}

// TestS3Exporter writes messages of all signals to a bucket of a server in this process, and
// reads each object back, with the extension, with the file tool and with the S3 receiver.
func TestS3Exporter(t *testing.T) {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("telemetry"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")

	h, f, p := newHost(t), awss3exporter.NewFactory(), new(producers)
	settings := exportertest.NewNopSettings(f.Type())
	config := configure(t, f.CreateDefaultConfig(), fmt.Sprintf(`
encoding: stef_encoding
encoding_file_extension: stef
sending_queue: {enabled: false}
s3uploader: {region: us-east-1, s3_bucket: telemetry, s3_prefix: items, s3_partition_timezone: UTC, endpoint: %q, s3_force_path_style: true, disable_ssl: true}
`, server.URL))
	var err error
	p.logs, err = f.CreateLogs(t.Context(), settings, config)
	require.NoError(t, err)
	p.traces, err = f.CreateTraces(t.Context(), settings, config)
	require.NoError(t, err)
	p.metrics, err = f.CreateMetrics(t.Context(), settings, config)
	require.NoError(t, err)
	p.start(t, h)
	const batches, size = 5, 200
	began := time.Now()
	for i := range batches {
		p.send(t, i*size, size)
	}
	p.stop(t)

	objects, tool := saveObjects(t, backend), stefBinary(t)
	for _, signal := range signals {
		names := objects[signal]
		require.Len(t, names, batches, signal)
		l := newLedger()
		for _, name := range names {
			require.Equal(t, ".stef", filepath.Ext(name))
			message, err := os.ReadFile(name)
			require.NoError(t, err)
			l.unmarshal(t, signal, h[component.MustNewID("stef_encoding")], message)
		}
		requireOnce(t, l, batches*size, signal)

		l = newLedger()
		tool.read(t, signal, l, names...)
		requireOnce(t, l, batches*size, signal)
	}
	readBucket(t, h, server.URL, began, batches*size)
}

// readBucket uses the S3 receiver to read the objects of a bucket that were written after the time
// began. It requires the items 0 to n-1 of each signal, each exactly once.
func readBucket(t *testing.T, h host, url string, began time.Time, n int) {
	t.Helper()
	f, got := awss3receiver.NewFactory(), newLedgers()
	settings := receivertest.NewNopSettings(f.Type())
	config := configure(t, f.CreateDefaultConfig(), fmt.Sprintf(`
starttime: %q
endtime: %q
s3downloader: {region: us-east-1, s3_bucket: telemetry, s3_prefix: items, s3_partition_timezone: UTC, endpoint: %q, s3_force_path_style: true}
encodings: [{extension: stef_encoding, suffix: .stef}]
`, began.UTC().Truncate(time.Minute).Format(time.RFC3339), time.Now().UTC().Add(time.Minute).Format(time.RFC3339), url))
	logs, err := f.CreateLogs(t.Context(), settings, config, got["logs"].logs(t))
	require.NoError(t, err)
	traces, err := f.CreateTraces(t.Context(), settings, config, got["traces"].traces(t))
	require.NoError(t, err)
	metrics, err := f.CreateMetrics(t.Context(), settings, config, got["metrics"].metrics(t))
	require.NoError(t, err)
	receivers := map[string]component.Component{"logs": logs, "traces": traces, "metrics": metrics}
	for _, c := range receivers {
		require.NoError(t, c.Start(t.Context(), h))
	}
	for _, signal := range signals {
		require.Eventually(t, func() bool { return got[signal].missing(n) == 0 }, time.Minute, 20*time.Millisecond, signal)
		require.NoError(t, receivers[signal].Shutdown(context.Background()))
		requireOnce(t, got[signal], n, signal)
	}
}

// TestS3BadObject: the awss3 receiver delivers the objects before an object that cannot be
// decoded. It logs what to do about the bad object, counts it, and does not read it again.
func TestS3BadObject(t *testing.T) {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("telemetry"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	telemetry := componenttest.NewTelemetry()
	h := newHostWith(t, telemetry.NewTelemetrySettings())

	minute := time.Date(2026, 5, 4, 3, 2, 0, 0, time.UTC)
	put := func(name string, content []byte) {
		t.Helper()
		_, err := backend.PutObject("telemetry", "logs/"+minute.Format("year=2006/month=01/day=02/hour=15/minute=04")+"/logs_"+name+".stef",
			nil, bytes.NewReader(content), int64(len(content)), nil)
		require.NoError(t, err)
	}
	good, err := h[component.MustNewID("stef_encoding")].(marshalLogs).MarshalLogs(numberedLogs(0, 100))
	require.NoError(t, err)
	put("1", good)
	put("2", good[:len(good)-1])

	f, l := awss3receiver.NewFactory(), newLedger()
	core, logged := observer.New(zap.ErrorLevel)
	settings := receivertest.NewNopSettings(f.Type())
	settings.Logger = zap.New(core)
	logs, err := f.CreateLogs(t.Context(), settings, configure(t, f.CreateDefaultConfig(), fmt.Sprintf(`
starttime: %q
endtime: %q
s3downloader: {s3_bucket: telemetry, s3_prefix: logs, s3_partition_timezone: UTC, endpoint: %q, s3_force_path_style: true}
encodings: [{extension: stef_encoding, suffix: .stef}]
`, minute.Format(time.RFC3339), minute.Add(time.Minute).Format(time.RFC3339), server.URL)), l.logs(t))
	require.NoError(t, err)
	require.NoError(t, logs.Start(t.Context(), h))
	require.Eventually(t, func() bool { return logged.Len() == 1 }, time.Minute, 20*time.Millisecond)
	require.Contains(t, fmt.Sprint(logged.All()[0].ContextMap()), "check what wrote or truncated it")
	require.NoError(t, logs.Shutdown(context.Background()))
	require.Zero(t, l.missing(100))
	require.EqualValues(t, 1, refused(telemetry, "corrupt"))
}

// saveObjects writes the objects of the bucket named telemetry to files. It returns the names of
// the files by signal; the name of an object begins with its signal.
func saveObjects(t *testing.T, backend *s3mem.Backend) map[string][]string {
	t.Helper()
	dir, names := t.TempDir(), map[string][]string{}
	objects, err := backend.ListBucket("telemetry", nil, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	for i, entry := range objects.Contents {
		object, err := backend.GetObject("telemetry", entry.Key, nil)
		require.NoError(t, err)
		content, err := io.ReadAll(object.Contents)
		require.NoError(t, err)
		name := filepath.Join(dir, strconv.Itoa(i)+filepath.Ext(entry.Key))
		require.NoError(t, os.WriteFile(name, content, 0o600))
		signal, _, _ := strings.Cut(path.Base(entry.Key), "_")
		names[signal] = append(names[signal], name)
	}
	return names
}

// fileTool is the program stef.
type fileTool string

// stefBinary returns the file tool, which is a module of its own.
func stefBinary(t *testing.T) fileTool {
	t.Helper()
	return fileTool(build(t, "../../cmd/stef", "stef"))
}

// parts converts files into one file, and returns the OTLP messages of this file.
func (f fileTool) parts(t *testing.T, files []string) [][]byte {
	t.Helper()
	require.NotEmpty(t, files)
	name := filepath.Join(t.TempDir(), "items.otlp.zst")
	out, err := exec.Command(string(f), slices.Concat([]string{"convert", "--to", "otlp-parts"}, files, []string{name})...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	parts, err := fixtures.Parts(content)
	require.NoError(t, err)
	return parts
}

func (f fileTool) read(t *testing.T, signal string, to *ledger, files ...string) {
	t.Helper()
	for _, part := range f.parts(t, files) {
		to.unmarshal(t, signal, otlpProto{}, part)
	}
}
