// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
)

// If the storage fails in several passes over the folder, the receiver logs this once. It logs it again
// only if the storage has worked in between.
func TestFailingStorageIsLoggedOnce(t *testing.T) {
	dir := t.TempDir()
	core, logs := observer.New(zap.WarnLevel)
	settings := receivertest.NewNopSettings(metadata.Type)
	settings.Logger = zap.New(core)
	to, store, id := &collected{t: t}, &memory{}, component.NewID(typ0)
	config := testConfig(dir, func(c *Config) { c.AssumeSignal, c.SettleTime, c.StorageID = "logs", time.Hour, &id })
	part, err := NewFactory().CreateLogs(context.Background(), settings, config, to)
	require.NoError(t, err)
	require.NoError(t, part.Start(context.Background(), testHost{store}))
	defer func() { require.NoError(t, part.Shutdown(context.Background())) }()
	idle := (&rig{t: t, part: part}).idle
	set := func(err error) {
		store.mu.Lock()
		defer store.mu.Unlock()
		store.fail = err
	}
	warnings := func() int {
		return logs.FilterMessage("Cannot " + phrases["storage"]).Len()
	}
	file := growing(t, filepath.Join(dir, "x.stef"))
	n := 0
	put := func() {
		file.put(numbered(uint64(n+1), uint64(n+10)))
		n += 10
		to.requireOnce(n)
		idle()
	}
	put()
	require.Zero(t, warnings())
	set(errStore)
	for range 5 {
		put()
	}
	require.Equal(t, 1, warnings())
	set(nil)
	put()
	set(errStore)
	put()
	require.Equal(t, 2, warnings())
	set(nil)
}

// The errors of a storage that another process uses, and of a storage with a damaged file, say what to do.
func TestStorageCannotBeOpened(t *testing.T) {
	id := component.NewID(typ0)
	config := testConfig(t.TempDir(), func(c *Config) { c.StorageID = &id })
	start := func(text string) error {
		part, err := NewFactory().CreateLogs(context.Background(), receivertest.NewNopSettings(metadata.Type), config, &collected{t: t})
		require.NoError(t, err)
		err = part.Start(context.Background(), testHost{&memory{locked: errors.New(text)}})
		require.NoError(t, part.Shutdown(context.Background()))
		return err
	}
	require.EqualError(t, start("timeout"), "the storage cannot be opened: is another Collector using this storage directory? (timeout)")
	require.EqualError(t, start("file size too small 4096"), "the storage cannot be opened: file size too small 4096 "+
		"(a file of "+id.String()+" for logs is damaged: move it away; files that are still in the folder are delivered again)")
	require.EqualError(t, start("disk on fire"), "disk on fire")
}

// A file does not count as finished before settle_time has passed since the receiver saw it grow. This
// holds even if its modification time is long ago, as after the clock has stepped forward.
func TestClockStepsForward(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.stef")
	to := &collected{t: t}
	file := growing(t, path)
	file.put(numbered(1, 10))
	r := start(t, testConfig(dir, func(c *Config) {
		c.AssumeSignal, c.SettleTime, c.OnFinished = "logs", 10*time.Minute, Delete
	}), to, nil)
	to.requireOnce(10)
	file.put(numbered(11, 20))
	to.requireOnce(20)
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
	r.idle()
	file.put(numbered(21, 30))
	to.requireOnce(30)
	require.Equal(t, []string{"x.stef"}, names(t, dir))
	require.Zero(t, r.finished(complete))
}

// The receiver keeps the position of a missing file for a day, even if it has more than maxMissing
// positions. It keeps at most maxMissing positions of missing files.
func TestForget(t *testing.T) {
	p, listed, now := checkpoints{byKey: map[string]*checkpoint{}}, map[string]bool{}, time.Now()
	for i := range maxMissing + 10 {
		key := fmt.Sprint(i)
		p.byKey[key], listed[key] = &checkpoint{Key: key, Outcome: complete}, true
	}
	delete(listed, "3")
	require.False(t, p.forget(listed, now))
	require.False(t, p.forget(listed, now.Add(forgetAfter)))
	require.True(t, p.forget(listed, now.Add(forgetAfter+2*time.Second)))
	require.Len(t, p.byKey, maxMissing+9)
	require.True(t, p.forget(nil, now))
	require.Len(t, p.byKey, maxMissing)
}
