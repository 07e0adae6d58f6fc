// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/rotate"
)

// stream is a stream of batches in a file.
type stream[T any] struct {
	*signal.Encoder[T]
	signal.Writer
}

// writer writes batches to rotated files.
type writer[T any] struct{ *rotate.Writer[stream[T]] }

func newWriter[T any](t testing.TB, sig *signal.Descriptor[T], o rotate.Options, more ...stef.WriterOption) writer[T] {
	t.Helper()
	o.Signal, o.Sync = sig.Name, rotate.SyncNone
	w, err := rotate.New(o, func(dst io.Writer) (stream[T], error) {
		e, err := sig.NewEncoder(dst, nil, append([]stef.WriterOption{stef.WithCompression(stef.Zstd)}, more...)...)
		if err != nil {
			return stream[T]{}, err
		}
		return stream[T]{e, e.Writer}, nil
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return writer[T]{w}
}

func (w writer[T]) put(batch T) error {
	return w.Write(func(s stream[T]) error { return s.Encode(batch) })
}

// numbered returns log records whose times are the numbers from first to last.
func numbered(first, last uint64) plog.Logs {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for n := first; n <= last; n++ {
		r := records.AppendEmpty()
		r.SetTimestamp(pcommon.Timestamp(n))
		r.Body().SetStr(text(n))
	}
	return ld
}

func text(n uint64) string { return fmt.Sprintf("order %d of customer %x", n, n*0x9e3779b97f4a7c15) }

// collected is a pipeline that counts how often each number was accepted.
type collected struct {
	t testing.TB
	// answer, if set, is called for each batch. The batch counts only if answer returns nil.
	answer  func(context.Context, plog.Logs) error
	mutates bool

	mu    sync.Mutex
	seen  map[uint64]int
	calls int
}

func (c *collected) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: c.mutates}
}

func (c *collected) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	c.mu.Lock()
	answer := c.answer
	c.calls++
	c.mu.Unlock()
	if answer != nil {
		if err := answer(ctx, ld); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	each(ld, func(n uint64, body string) {
		if body != text(n) {
			c.t.Errorf("record %d has the body %q", n, body)
		}
		if c.seen == nil {
			c.seen = map[uint64]int{}
		}
		c.seen[n]++
	})
	return nil
}

func (c *collected) set(answer func(context.Context, plog.Logs) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
}

// counts returns how many numbers were accepted, and how many of them were accepted repeatedly.
func (c *collected) counts() (numbers, repeated int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.seen {
		if n > 1 {
			repeated++
		}
	}
	return len(c.seen), repeated
}

func (c *collected) all() map[uint64]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.seen)
}

// requireOnce waits until n numbers were accepted, and requires that no number was accepted twice.
func (c *collected) requireOnce(n int) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		numbers, _ := c.counts()
		return numbers >= n
	}, time.Minute, time.Millisecond, "of %d", n)
	numbers, repeated := c.counts()
	require.Equal(c.t, [2]int{n, 0}, [2]int{numbers, repeated})
}

func each(ld plog.Logs, f func(n uint64, body string)) {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				f(uint64(r.Timestamp()), r.Body().Str())
			}
		}
	}
}

// testConfig returns a configuration that follows a folder with short pauses.
func testConfig(dir string, changes ...func(*Config)) *Config {
	c := createDefaultConfig().(*Config)
	c.Include = []string{filepath.Join(dir, "*.stef*")}
	c.PollInterval, c.SettleTime = 2*time.Millisecond, 50*time.Millisecond
	c.RetryConfig.InitialInterval, c.RetryConfig.MaxInterval = time.Millisecond, 5*time.Millisecond
	for _, change := range changes {
		change(c)
	}
	return c
}

// rig is a running receiver of logs.
type rig struct {
	t         testing.TB
	part      receiver.Logs
	telemetry *componenttest.Telemetry
	stopped   bool
}

var typ0 = component.MustNewType("memory")

// start starts a receiver of logs. store may be nil.
func start(t testing.TB, config *Config, to consumer.Logs, store *memory) *rig {
	t.Helper()
	r := &rig{t: t, telemetry: componenttest.NewTelemetry()}
	settings := receivertest.NewNopSettings(metadata.Type)
	settings.ID = component.NewID(metadata.Type)
	settings.TelemetrySettings = r.telemetry.NewTelemetrySettings()
	host := testHost{}
	if store != nil {
		id := component.NewID(typ0)
		config.StorageID, host.store = &id, store
	}
	var err error
	r.part, err = NewFactory().CreateLogs(context.Background(), settings, config, to)
	require.NoError(t, err)
	require.NoError(t, r.part.Start(context.Background(), host))
	t.Cleanup(func() {
		r.stop()
		require.NoError(t, r.telemetry.Shutdown(context.Background()))
	})
	return r
}

func (r *rig) stop() {
	if !r.stopped {
		r.stopped = true
		require.NoError(r.t, r.part.Shutdown(context.Background()))
	}
}

// idle waits until the receiver has completed at least three more passes over the folder.
func (r *rig) idle() {
	r.t.Helper()
	f := r.part.(interface{ count() uint64 })
	from := f.count()
	require.Eventually(r.t, func() bool { return f.count() > from+2 }, time.Minute, time.Millisecond)
}

func (f *follower[T]) count() uint64 { return f.passes.Load() }

// sum returns the sum of a metric over all points with the given attributes.
func (r *rig) sum(name string, attributes ...string) (total int64) {
	r.t.Helper()
	m, err := r.telemetry.GetMetric(name)
	if err != nil {
		return 0
	}
	var points []metricdata.DataPoint[int64]
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		points = data.DataPoints
	case metricdata.Gauge[int64]:
		points = data.DataPoints
	}
next:
	for _, p := range points {
		for i := 0; i < len(attributes); i += 2 {
			if v, ok := p.Attributes.Value(attribute.Key(attributes[i])); !ok || v.AsString() != attributes[i+1] {
				continue next
			}
		}
		total += p.Value
	}
	return total
}

// finished returns the number of finished files that the metric counts with an outcome.
func (r *rig) finished(outcome string) int64 {
	return r.sum("otelcol_receiver_steffile_files_finished", "outcome", outcome)
}

func (r *rig) errors(operation string) int64 {
	return r.sum("otelcol_receiver_steffile_errors", "operation", operation)
}

func (r *rig) requireFinished(outcome string, n int64) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.finished(outcome) >= n }, time.Minute, time.Millisecond)
	require.Equal(r.t, n, r.finished(outcome))
}

// testHost has one storage extension.
type testHost struct{ store *memory }

func (h testHost) GetExtensions() map[component.ID]component.Component {
	if h.store == nil {
		return nil
	}
	return map[component.ID]component.Component{component.NewID(typ0): h.store}
}

// memory is a storage extension that keeps its data in memory.
type memory struct {
	component.StartFunc
	component.ShutdownFunc
	mu     sync.Mutex
	data   map[string][]byte
	fail   error
	locked error // error of GetClient
	writes int
	bytes  int
	stored func(key string)             // called after each write, if set
	before func(data map[string][]byte) // called before each batch, if set
}

var errStore = errors.New("the store fails")

func (m *memory) GetClient(_ context.Context, _ component.Kind, id component.ID, name string) (storage.Client, error) {
	if m.locked != nil {
		return nil, m.locked
	}
	return &client{m, id.String() + "/" + name + "/"}, nil
}

type client struct {
	*memory
	prefix string
}

func (c *client) Get(ctx context.Context, key string) ([]byte, error) {
	op := storage.GetOperation(key)
	err := c.Batch(ctx, op)
	return op.Value, err
}

func (c *client) Set(ctx context.Context, key string, value []byte) error {
	return c.Batch(ctx, storage.SetOperation(key, value))
}

func (c *client) Delete(ctx context.Context, key string) error {
	return c.Batch(ctx, storage.DeleteOperation(key))
}

func (c *client) Batch(_ context.Context, operations ...*storage.Operation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	if c.before != nil {
		c.before(c.data)
	}
	for _, op := range operations {
		switch key := c.prefix + op.Key; op.Type {
		case storage.Get:
			op.Value = c.data[key]
		case storage.Set:
			if c.data == nil {
				c.data = map[string][]byte{}
			}
			c.writes++
			c.bytes += len(op.Value)
			c.data[key] = op.Value
			if c.stored != nil {
				c.stored(op.Key)
			}
		case storage.Delete:
			delete(c.data, key)
		}
	}
	return nil
}

func (c *client) Close(context.Context) error { return nil }

// names lists a folder.
func names(t testing.TB, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// appear creates a file together with its content: a receiver could finish an empty file
// before the content is written.
func appear(t testing.TB, path string, content []byte) {
	t.Helper()
	written := filepath.Join(t.TempDir(), "written")
	require.NoError(t, os.WriteFile(written, content, 0o600))
	require.NoError(t, os.Rename(written, path))
}
