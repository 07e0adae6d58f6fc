// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// manyFiles creates n files with one record each. Their names say that they are finished.
func manyFiles(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range n {
		content := compactFile(t, [2]uint64{uint64(i + 1), uint64(i + 1)})
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("x-logs-20240101T000000.000Z-1-%06d.stef", i)), content, 0o600))
	}
	return dir
}

// TestManyFiles counts the bytes that the receiver writes to the storage for a folder of many kept
// files. An earlier version stored the positions of all finished files again after each file: 131 MB
// for 1,000 files, and 2.1 GB for 4,000.
func TestManyFiles(t *testing.T) {
	const files = 1000
	dir, store, to := manyFiles(t, files), &memory{}, &collected{t: t}
	r := start(t, testConfig(dir), to, store)
	r.requireFinished(complete, files)
	r.idle()
	r.stop()
	to.requireOnce(files)
	require.Less(t, store.bytes, 20_000*files)

	stored := 0
	for key, value := range store.data {
		var list []*checkpoint
		require.NoError(t, json.Unmarshal(value, &list))
		if stored += len(list); strings.HasSuffix(key, keyReading) {
			require.Empty(t, list)
		}
		require.LessOrEqual(t, len(list), groupSize)
	}
	require.Equal(t, files, stored)

	before := store.writes
	r = start(t, testConfig(dir), to, store)
	r.idle()
	to.requireOnce(files)
	require.Equal(t, before, store.writes, "nothing has changed")
}

// TestKilledBetweenManyFiles simulates a crash: it starts the receiver with the positions that were
// stored when an earlier receiver delivered a batch. Only this batch may be delivered again.
func TestKilledBetweenManyFiles(t *testing.T) {
	const files = 150
	dir := manyFiles(t, files)
	var states []map[string][]byte
	store, to := &memory{}, &collected{t: t}
	store.before = func(data map[string][]byte) { states = append(states, maps.Clone(data)) }
	r := start(t, testConfig(dir), to, store)
	r.requireFinished(complete, files)
	r.stop()
	to.requireOnce(files)
	require.Greater(t, len(states), 2*files)
	for at := 0; at < len(states); at += 17 {
		data := map[string][]byte{}
		for key, value := range states[at] { // without the prefix of the receiver
			data[key[strings.LastIndex(key, "/")+1:]] = value
		}
		p := checkpoints{client: &client{&memory{data: data}, ""}}
		require.NoError(t, p.load(context.Background()))
		again := &collected{t: t}
		rest := start(t, testConfig(dir), again, &memory{data: states[at]})
		rest.requireFinished(complete, int64(files-finishedIn(&p)))
		rest.stop()
		delivered, _ := again.counts()
		require.LessOrEqual(t, delivered, files-len(p.byKey))
	}
}

func finishedIn(p *checkpoints) (n int) {
	for _, cp := range p.byKey {
		if cp.finished() {
			n++
		}
	}
	return n
}

// A checkpoint is the stored position of a file. TestGroups changes checkpoints at random and saves them, loads
// them again, and compares.
func TestGroups(t *testing.T) {
	store := &client{&memory{}, ""}
	p, n := checkpoints{client: store}, 0
	require.NoError(t, p.load(context.Background()))
	random := rand.New(rand.NewPCG(1, 2))
	some := func() *checkpoint {
		for _, cp := range p.byKey {
			return cp
		}
		return nil
	}
	for range 3000 {
		switch cp := some(); {
		case cp == nil || random.IntN(3) == 0:
			n++
			cp = &checkpoint{Key: fmt.Sprint(n), Sample: 1}
			p.add(cp)
		case random.IntN(6) == 0:
			p.remove(cp)
		case random.IntN(6) == 0:
			p.renameReplaced(cp)
		case random.IntN(6) == 0:
			cp.Outcome = ""
			p.removeFromGroup(cp)
		case random.IntN(6) == 0:
			p.setChecksums(cp, &checkpoint{Sample: 1 + random.IntN(3), Sum: fmt.Sprint(random.IntN(20))})
		default:
			cp.Outcome = complete
			cp.changed()
		}
		if random.IntN(4) > 0 {
			continue
		}
		requireIndexed(t, &p)
		require.NoError(t, p.save(context.Background(), random.IntN(3) == 0))
		loaded := checkpoints{client: store}
		require.NoError(t, loaded.load(context.Background()))
		require.Len(t, loaded.byKey, len(p.byKey))
		requireIndexed(t, &loaded)
		for key, cp := range p.byKey {
			require.Equal(t, cp.Outcome, loaded.byKey[key].Outcome)
		}
	}
	require.Greater(t, len(p.groups), 3)
}

// requireIndexed checks that the index by the beginnings of files has each checkpoint exactly once.
func requireIndexed(t *testing.T, p *checkpoints) {
	t.Helper()
	n, samples := 0, map[int]int{}
	for m, a := range p.byPrefix {
		require.NotEmpty(t, a.checkpoints)
		known := map[*checkpoint]bool{} // require.Subset compares each pair, which takes minutes here
		for _, cp := range a.checkpoints {
			known[cp] = true
			require.Same(t, cp, p.byKey[cp.Key])
			require.Equal(t, m, prefixSum{cp.Sample, cp.Sum})
			samples[cp.Sample]++
			n++
		}
		for _, cp := range a.unchecked {
			require.True(t, known[cp])
		}
	}
	require.Equal(t, len(p.byKey), n)
	require.True(t, maps.Equal(samples, p.prefixLengths))
}

// TestManyCheckpoints: the time to look up the checkpoint of a new file does not grow with the number of known
// files. An earlier version compared each new file with all checkpoints.
func TestManyCheckpoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.stef")
	require.NoError(t, os.WriteFile(path, compactFile(t, [2]uint64{1, 10}), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	open := func(known int) time.Duration {
		p := checkpoints{byKey: map[string]*checkpoint{}}
		for i := range known {
			p.add(&checkpoint{Key: fmt.Sprint(i), Sample: sampleBytes - i%2, Sum: fmt.Sprint(i)})
		}
		least := time.Hour
		for range 50 {
			began := time.Now()
			_, err := p.open(file, path, nil)
			least = min(least, time.Since(began))
			require.NoError(t, err)
			p.removeKey(path)
		}
		return least
	}
	few := open(100)
	require.Less(t, open(100_000), 20*few)
}

// TestForgottenCheckpointIsRenamed: an open file disappears from the folder, so its checkpoint is removed after a
// day. Later the file appears under another name. Then its checkpoint is saved again.
func TestForgottenCheckpointIsRenamed(t *testing.T) {
	store := &client{&memory{data: map[string][]byte{}}, ""}
	p := checkpoints{client: store, byKey: map[string]*checkpoint{}}
	cp := &checkpoint{Key: "a", Sample: 1, Sum: "s", Offset: 7}
	p.add(cp)
	p.remove(cp)
	p.rename(cp, "b")
	require.NoError(t, p.save(t.Context(), true))
	loaded := checkpoints{client: store}
	require.NoError(t, loaded.load(t.Context()))
	require.Len(t, loaded.byKey, 1)
	require.NotNil(t, loaded.byKey["b"])
	require.Equal(t, cp.Offset, loaded.byKey["b"].Offset)
}

// TestManyCopies: each checkpoint is compared once in a pass, not with each new file, so the time for many copies of
// one file is linear. 10,000 copies took 4 minutes. If a file was renamed meanwhile, its checkpoint is found.
func TestManyCopies(t *testing.T) {
	const copies = 200
	dir, content := t.TempDir(), compactFile(t, [2]uint64{1, 10})
	p, listed := checkpoints{byKey: map[string]*checkpoint{}, pass: 1}, map[string]bool{}
	path := func(i int) string { return filepath.Join(dir, fmt.Sprintf("%03d.stef", i)) }
	enter := func(key string) *checkpoint {
		file, err := os.Open(key)
		require.NoError(t, err)
		defer file.Close()
		cp, err := p.open(file, key, listed)
		require.NoError(t, err)
		var read checkpoint
		require.NoError(t, read.identify(file, int64(len(content))))
		require.NoError(t, read.setDigest(file, &digest{}, int64(len(content))))
		p.setChecksums(cp, &read)
		return cp
	}
	for i := range copies {
		require.NoError(t, os.WriteFile(path(i), content, 0o600))
		listed[path(i)] = true
	}
	for i := range copies {
		cp := enter(path(i))
		a := p.byPrefix[prefixSum{cp.Sample, cp.Sum}]
		require.Len(t, a.checkpoints, i+1)
		require.LessOrEqual(t, len(a.unchecked), 2)
	}
	for _, pass := range []int{1, 2} {
		p.pass = pass
		require.NoError(t, os.WriteFile(path(copies), content, 0o600))
		listed[path(copies)] = true
		enter(path(copies))
		require.Len(t, p.byKey, copies+1)
		p.removeKey(path(copies))
	}
	requireIndexed(t, &p)

	renamed := p.byKey[path(7)]
	require.NoError(t, os.Rename(path(7), path(copies)))
	require.NoError(t, os.WriteFile(path(7), []byte("another file"), 0o600))
	p.pass++
	require.Same(t, renamed, enter(path(copies)))
	require.Len(t, p.byKey, copies)
	requireIndexed(t, &p)
}
