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
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/receiver/steffilereceiver"
)

// What the extension is to components.
type (
	marshalLogs   interface{ plog.Marshaler }
	marshalTraces interface{ ptrace.Marshaler }
)

// TestFileExporter writes messages to a file, which the file exporter puts
// behind their lengths, and reads them back; a file that lost its end has all
// messages before that.
func TestFileExporter(t *testing.T) {
	h, path := newHost(t), filepath.Join(t.TempDir(), "logs.stef")
	f := fileexporter.NewFactory()
	config := configure(t, f.CreateDefaultConfig(), fmt.Sprintf("{path: %q, format: proto, encoding: stef_encoding}", path))
	logs, err := f.CreateLogs(t.Context(), exportertest.NewNopSettings(f.Type()), config)
	require.NoError(t, err)
	require.NoError(t, logs.Start(t.Context(), h))
	const batches, size = 20, 300
	for i := range batches {
		require.NoError(t, logs.ConsumeLogs(t.Context(), numberedLogs(i*size, size)))
	}
	require.NoError(t, logs.Shutdown(context.Background()))
	file, err := os.ReadFile(path)
	require.NoError(t, err)

	read := func(file []byte) (items int) {
		l := newLedger()
		readMessages(t, h, file, l)
		distinct, duplicates := l.distinct()
		require.Zero(t, duplicates)
		return distinct
	}
	require.Equal(t, batches*size, read(file))
	last := 0
	for cut := 0; cut < len(file); cut += 41 {
		got := read(file[:cut])
		require.GreaterOrEqual(t, got, last)
		require.Zero(t, got%size)
		last = got
	}
	require.Equal(t, (batches-1)*size, last)
}

// readMessages reads a file of the file exporter. Each message follows its length.
// It stops at an incomplete message.
func readMessages(t *testing.T, h host, file []byte, to *ledger) {
	t.Helper()
	unmarshaler := h[component.MustNewID("stef_encoding")].(plog.Unmarshaler)
	for len(file) >= 4 {
		length := int(binary.BigEndian.Uint32(file))
		if len(file) < 4+length {
			return
		}
		ld, err := unmarshaler.UnmarshalLogs(file[4 : 4+length])
		require.NoError(t, err)
		require.NoError(t, to.logs(t).ConsumeLogs(t.Context(), ld))
		file = file[4+length:]
	}
}

// TestFileExporterRotates: messages are never split between files, so each file
// of a rotation can be read, and all together have every item once.
func TestFileExporterRotates(t *testing.T) {
	h, dir := newHost(t), t.TempDir()
	f := fileexporter.NewFactory()
	config := configure(t, f.CreateDefaultConfig(), fmt.Sprintf(
		"{path: %q, format: proto, encoding: stef_encoding, rotation: {max_megabytes: 1, max_backups: 100}}", filepath.Join(dir, "logs.stef")))
	logs, err := f.CreateLogs(t.Context(), exportertest.NewNopSettings(f.Type()), config)
	require.NoError(t, err)
	require.NoError(t, logs.Start(t.Context(), h))
	const batches, size = 400, 20
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range batches {
		require.NoError(t, logs.ConsumeLogs(t.Context(), incompressible(i*size, size, noise)))
	}
	require.NoError(t, logs.Shutdown(context.Background()))
	files, err := filepath.Glob(filepath.Join(dir, "*.stef"))
	require.NoError(t, err)
	require.Greater(t, len(files), 2)
	l := newLedger()
	for _, name := range files {
		file, err := os.ReadFile(name)
		require.NoError(t, err)
		readMessages(t, h, file, l)
	}
	_, duplicates := l.distinct()
	require.Zero(t, duplicates)
	require.Zero(t, l.missing(batches*size))

	l = newLedger()
	stefBinary(t).readLogs(t, l, files...)
	_, duplicates = l.distinct()
	require.Zero(t, duplicates)
	require.Zero(t, l.missing(batches*size))
}

// TestFollowFileExporter: the steffile receiver follows the files of the file exporter
// through their rotation, and delivers each record once.
func TestFollowFileExporter(t *testing.T) {
	h, dir := newHost(t), t.TempDir()
	got := newLedger()
	rf := steffilereceiver.NewFactory()
	follower, err := rf.CreateLogs(t.Context(), receivertest.NewNopSettings(rf.Type()), configure(t, rf.CreateDefaultConfig(), fmt.Sprintf(
		"{include: [%q], poll_interval: 10ms}", filepath.Join(dir, "*.stef"))), got.logs(t))
	require.NoError(t, err)
	require.NoError(t, follower.Start(t.Context(), h))

	f := fileexporter.NewFactory()
	config := configure(t, f.CreateDefaultConfig(), fmt.Sprintf(
		"{path: %q, format: proto, encoding: stef_encoding, rotation: {max_megabytes: 1, max_backups: 100}}", filepath.Join(dir, "logs.stef")))
	logs, err := f.CreateLogs(t.Context(), exportertest.NewNopSettings(f.Type()), config)
	require.NoError(t, err)
	require.NoError(t, logs.Start(t.Context(), h))
	const batches, size = 400, 20
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range batches {
		require.NoError(t, logs.ConsumeLogs(t.Context(), incompressible(i*size, size, noise)))
		if i%20 == 0 {
			time.Sleep(20 * time.Millisecond) // so that the follower sees files before they rotate
		}
	}
	require.NoError(t, logs.Shutdown(context.Background()))
	require.Eventually(t, func() bool { return got.missing(batches*size) == 0 }, time.Minute, 20*time.Millisecond)
	require.NoError(t, follower.Shutdown(context.Background()))
	_, duplicates := got.distinct()
	require.Zero(t, duplicates)
	files, err := filepath.Glob(filepath.Join(dir, "*.stef"))
	require.NoError(t, err)
	require.Greater(t, len(files), 2)
}

// incompressible returns numbered log records with bodies of random bytes.
func incompressible(first, n int, noise *rand.Rand) plog.Logs {
	ld := numberedLogs(first, n)
	for _, r := range ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
		body := make([]byte, 400)
		for k := range body {
			body[k] = byte(noise.Uint32())
		}
		r.Body().SetEmptyBytes().FromRaw(body)
	}
	return ld
}

// TestFileSizes prints the size of the recordings in files of the file exporter:
// as STEF, as OTLP protobuf and as OTLP JSON. The OTLP files use the zstd of the
// exporter, which also compresses each message separately.
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

// TestObjectSizes prints the size of the recordings in objects of the S3 exporter: a batch
// as it was recorded in each object, and all batches in one. OTLP objects have each
// compression of the exporter. Those of STEF are the smallest.
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
					smallest[signal] = size // STEF
					continue
				}
				require.Less(t, smallest[signal], size, "%s of %s", format, signal)
			}
		}
	}
}

// bucket is the number of objects of a signal, and their size.
type bucket struct {
	count int
	bytes int64
}

// recordingsInObjects sends the recordings to a bucket of a server in this process.
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

// TestS3Exporter writes messages to a bucket of a server in this process, and
// reads each object back.
func TestS3Exporter(t *testing.T) {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("telemetry"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")

	h, f := newHost(t), awss3exporter.NewFactory()
	config := configure(t, f.CreateDefaultConfig(), fmt.Sprintf(`
encoding: stef_encoding
encoding_file_extension: stef
sending_queue: {enabled: false}
s3uploader: {region: us-east-1, s3_bucket: telemetry, s3_prefix: traces, endpoint: %q, s3_force_path_style: true, disable_ssl: true}
`, server.URL))
	traces, err := f.CreateTraces(t.Context(), exportertest.NewNopSettings(f.Type()), config)
	require.NoError(t, err)
	require.NoError(t, traces.Start(t.Context(), h))
	const batches, size = 5, 200
	for i := range batches {
		require.NoError(t, traces.ConsumeTraces(t.Context(), numberedTraces(i*size, size)))
	}
	require.NoError(t, traces.Shutdown(context.Background()))

	names := saveObjects(t, backend)
	require.Len(t, names, batches)
	l := newLedger()
	for _, name := range names {
		require.Equal(t, ".stef", filepath.Ext(name))
		message, err := os.ReadFile(name)
		require.NoError(t, err)
		td, err := h[component.MustNewID("stef_encoding")].(ptrace.Unmarshaler).UnmarshalTraces(message)
		require.NoError(t, err)
		require.NoError(t, l.traces(t).ConsumeTraces(t.Context(), td))
	}
	require.Zero(t, l.missing(batches*size))

	l = newLedger()
	stefBinary(t).readTraces(t, l, names...)
	_, duplicates := l.distinct()
	require.Zero(t, duplicates)
	require.Zero(t, l.missing(batches*size))
}

// TestS3BadObject: the awss3 receiver delivers the objects before one that cannot be decoded,
// logs what to do about that one, counts it, and does not read it again.
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
	require.Eventually(t, func() bool { return logged.Len() == 1 }, 30*time.Second, 20*time.Millisecond)
	require.Contains(t, fmt.Sprint(logged.All()[0].ContextMap()), "check what wrote or shortened it")
	require.NoError(t, logs.Shutdown(context.Background()))
	require.Zero(t, l.missing(100))
	require.EqualValues(t, 1, refused(t, telemetry, "corrupt"))
}

// saveObjects writes the objects of the bucket telemetry to files, and returns their names.
func saveObjects(t *testing.T, backend *s3mem.Backend) (names []string) {
	t.Helper()
	dir := t.TempDir()
	objects, err := backend.ListBucket("telemetry", nil, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	for i, entry := range objects.Contents {
		object, err := backend.GetObject("telemetry", entry.Key, nil)
		require.NoError(t, err)
		content, err := io.ReadAll(object.Contents)
		require.NoError(t, err)
		name := filepath.Join(dir, strconv.Itoa(i)+filepath.Ext(entry.Key))
		require.NoError(t, os.WriteFile(name, content, 0o600))
		names = append(names, name)
	}
	return names
}

// fileTool is the program stef.
type fileTool string

// stefBinary builds the file tool, which is a module of its own.
func stefBinary(t *testing.T) fileTool {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the file tool")
	}
	binary := filepath.Join(t.TempDir(), "stef")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = "../../cmd/stef"
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return fileTool(binary)
}

// parts converts files into one, and returns its OTLP messages.
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

func (f fileTool) readLogs(t *testing.T, to *ledger, files ...string) {
	t.Helper()
	for _, part := range f.parts(t, files) {
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(part)
		require.NoError(t, err)
		require.NoError(t, to.logs(t).ConsumeLogs(t.Context(), ld))
	}
}

func (f fileTool) readTraces(t *testing.T, to *ledger, files ...string) {
	t.Helper()
	for _, part := range f.parts(t, files) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(part)
		require.NoError(t, err)
		require.NoError(t, to.traces(t).ConsumeTraces(t.Context(), td))
	}
}
