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
		var list []*place
		require.NoError(t, json.Unmarshal(value, &list))
		if stored += len(list); strings.HasSuffix(key, keyReading) {
			require.Empty(t, list)
		}
		require.LessOrEqual(t, len(list), groupPlaces)
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
		p := places{client: &client{&memory{data: data}, ""}}
		require.NoError(t, p.load(context.Background()))
		again := &collected{t: t}
		rest := start(t, testConfig(dir), again, &memory{data: states[at]})
		rest.requireFinished(complete, int64(files-finishedIn(&p)))
		rest.stop()
		delivered, _ := again.counts()
		require.LessOrEqual(t, delivered, files-len(p.of))
	}
}

func finishedIn(p *places) (n int) {
	for _, one := range p.of {
		if one.finished() {
			n++
		}
	}
	return n
}

// A place is the stored position of a file. TestGroups changes places at random and saves them, loads
// them again, and compares.
func TestGroups(t *testing.T) {
	store := &client{&memory{}, ""}
	p, n := places{client: store}, 0
	require.NoError(t, p.load(context.Background()))
	random := rand.New(rand.NewPCG(1, 2))
	some := func() *place {
		for _, one := range p.of {
			return one
		}
		return nil
	}
	for range 3000 {
		switch one := some(); {
		case one == nil || random.IntN(3) == 0:
			n++
			one = &place{Key: fmt.Sprint(n), Sample: 1}
			p.add(one)
		case random.IntN(6) == 0:
			p.remove(one)
		case random.IntN(6) == 0:
			p.putAside(one)
		case random.IntN(6) == 0:
			one.Outcome = ""
			p.loosen(one)
		case random.IntN(6) == 0:
			p.wasRead(one, &place{Sample: 1 + random.IntN(3), Sum: fmt.Sprint(random.IntN(20))})
		default:
			one.Outcome = complete
			one.changed()
		}
		if random.IntN(4) > 0 {
			continue
		}
		requireIndexed(t, &p)
		require.NoError(t, p.save(context.Background(), random.IntN(3) == 0))
		loaded := places{client: store}
		require.NoError(t, loaded.load(context.Background()))
		require.Len(t, loaded.of, len(p.of))
		requireIndexed(t, &loaded)
		for key, one := range p.of {
			require.Equal(t, one.Outcome, loaded.of[key].Outcome)
		}
	}
	require.Greater(t, len(p.groups), 3)
}

// requireIndexed checks that the index by the beginnings of files has each place exactly once.
func requireIndexed(t *testing.T, p *places) {
	t.Helper()
	n, samples := 0, map[int]int{}
	for m, a := range p.begin {
		require.NotEmpty(t, a.places)
		known := map[*place]bool{} // require.Subset compares each pair, which takes minutes here
		for _, one := range a.places {
			known[one] = true
			require.Same(t, one, p.of[one.Key])
			require.Equal(t, m, mark{one.Sample, one.Sum})
			samples[one.Sample]++
			n++
		}
		for _, one := range a.unsettled {
			require.True(t, known[one])
		}
	}
	require.Equal(t, len(p.of), n)
	require.True(t, maps.Equal(samples, p.samples))
}

// TestManyPlaces: the time to look up the place of a new file does not grow with the number of known
// files. An earlier version compared each new file with all places.
func TestManyPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.stef")
	require.NoError(t, os.WriteFile(path, compactFile(t, [2]uint64{1, 10}), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	open := func(known int) time.Duration {
		p := places{of: map[string]*place{}}
		for i := range known {
			p.add(&place{Key: fmt.Sprint(i), Sample: sampleBytes - i%2, Sum: fmt.Sprint(i)})
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

// TestForgottenPlaceIsRenamed: an open file disappears from the folder, so its place is removed after a
// day. Later the file appears under another name. Then its place is saved again.
func TestForgottenPlaceIsRenamed(t *testing.T) {
	store := &client{&memory{data: map[string][]byte{}}, ""}
	p := places{client: store, of: map[string]*place{}}
	one := &place{Key: "a", Sample: 1, Sum: "s", Offset: 7}
	p.add(one)
	p.remove(one)
	p.rename(one, "b")
	require.NoError(t, p.save(t.Context(), true))
	loaded := places{client: store}
	require.NoError(t, loaded.load(t.Context()))
	require.Len(t, loaded.of, 1)
	require.NotNil(t, loaded.of["b"])
	require.Equal(t, one.Offset, loaded.of["b"].Offset)
}

// TestManyCopies: each place is compared once in a pass, not with each new file, so the time for many copies of
// one file is linear. 10,000 copies took 4 minutes. If a file was renamed meanwhile, its place is found.
func TestManyCopies(t *testing.T) {
	const copies = 200
	dir, content := t.TempDir(), compactFile(t, [2]uint64{1, 10})
	p, listed := places{of: map[string]*place{}, pass: 1}, map[string]bool{}
	path := func(i int) string { return filepath.Join(dir, fmt.Sprintf("%03d.stef", i)) }
	enter := func(key string) *place {
		file, err := os.Open(key)
		require.NoError(t, err)
		defer file.Close()
		one, err := p.open(file, key, listed)
		require.NoError(t, err)
		var read place
		require.NoError(t, read.identify(file, int64(len(content))))
		require.NoError(t, read.wasRead(file, &digest{}, int64(len(content))))
		p.wasRead(one, &read)
		return one
	}
	for i := range copies {
		require.NoError(t, os.WriteFile(path(i), content, 0o600))
		listed[path(i)] = true
	}
	for i := range copies {
		one := enter(path(i))
		a := p.begin[mark{one.Sample, one.Sum}]
		require.Len(t, a.places, i+1)
		require.LessOrEqual(t, len(a.unsettled), 2)
	}
	for _, pass := range []int{1, 2} {
		p.pass = pass
		require.NoError(t, os.WriteFile(path(copies), content, 0o600))
		listed[path(copies)] = true
		enter(path(copies))
		require.Len(t, p.of, copies+1)
		p.removeKey(path(copies))
	}
	requireIndexed(t, &p)

	renamed := p.of[path(7)]
	require.NoError(t, os.Rename(path(7), path(copies)))
	require.NoError(t, os.WriteFile(path(7), []byte("another file"), 0o600))
	p.pass++
	require.Same(t, renamed, enter(path(copies)))
	require.Len(t, p.of, copies)
	requireIndexed(t, &p)
}
