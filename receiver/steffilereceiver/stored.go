// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// checkpoints has the checkpoint of each file of a signal: the position up to which the file was delivered.
// The checkpoints of files being read change often, so they are saved separately from the checkpoints of
// finished files. There can be many finished files, so their checkpoints are saved in groups: when a file
// is finished, only one group is written, not all checkpoints.
type checkpoints struct {
	client       storage.Client
	byKey        map[string]*checkpoint
	withoutGroup map[*checkpoint]bool // the checkpoints without a group: of files being read, and of files that finished recently
	groups       []*group

	// byPrefix has the checkpoints by the first bytes of their files. prefixLengths has the number of checkpoints
	// by Sample, which is the number of these bytes. Without them, each new file would be compared with all
	// checkpoints.
	byPrefix      map[prefixSum]*samePrefix
	prefixLengths map[int]int
	pass          int // number of the pass over the folder
}

// samePrefix contains the checkpoints of files with the same first bytes.
type samePrefix struct {
	checkpoints []*checkpoint
	// unchecked are the checkpoints whose path may name another file now. In each pass, a checkpoint is
	// checked once, and not for each new file: a folder may have many copies of one file.
	unchecked []*checkpoint
	pass      int // the pass that unchecked is about
}

// without removes a checkpoint from a list, whose order has no meaning.
func without(list []*checkpoint, cp *checkpoint) []*checkpoint {
	i := slices.Index(list, cp)
	if i < 0 {
		return list
	}
	last := len(list) - 1
	list[i], list[last] = list[last], nil
	return list[:last]
}

// prefixSum identifies the first bytes of a file by their checksum: see Sample and Sum of checkpoint.
type prefixSum struct {
	length int
	sum    string
}

// group contains the checkpoints of finished files that are stored under one key of the storage.
type group struct {
	key         string
	checkpoints []*checkpoint
	changed     bool // the checkpoints have changed since the last save
}

const (
	keyReading  = "reading"
	keyFinished = "finished" // the key of the first group; the keys of the other groups end with a number
	// groupSize is the number of checkpoints in a full group. At most this number of finished checkpoints
	// without a group are saved with each batch of a file that is being read.
	groupSize = 32
)

func groupKey(i int) string {
	if i == 0 {
		return keyFinished
	}
	return fmt.Sprint(keyFinished, " ", i)
}

// add adds the checkpoint of a file. The checkpoint is in no group yet.
func (p *checkpoints) add(cp *checkpoint) {
	if p.withoutGroup == nil {
		p.withoutGroup = map[*checkpoint]bool{}
	}
	p.byKey[cp.Key], p.withoutGroup[cp] = cp, true
	p.index(cp)
}

// index adds a checkpoint to byPrefix, and counts it in prefixLengths.
func (p *checkpoints) index(cp *checkpoint) {
	if cp.Sample == 0 {
		return
	}
	if p.byPrefix == nil {
		p.byPrefix, p.prefixLengths = map[prefixSum]*samePrefix{}, map[int]int{}
	}
	m := prefixSum{cp.Sample, cp.Sum}
	a := p.byPrefix[m]
	if a == nil {
		a = &samePrefix{}
		p.byPrefix[m] = a
	}
	a.checkpoints, a.unchecked = append(a.checkpoints, cp), append(a.unchecked, cp)
	p.prefixLengths[cp.Sample]++
}

// unindex is the inverse of index.
func (p *checkpoints) unindex(cp *checkpoint) {
	m := prefixSum{cp.Sample, cp.Sum}
	a := p.byPrefix[m]
	if a == nil || !slices.Contains(a.checkpoints, cp) {
		return
	}
	a.checkpoints, a.unchecked = without(a.checkpoints, cp), without(a.unchecked, cp)
	if len(a.checkpoints) == 0 {
		delete(p.byPrefix, m)
	}
	if p.prefixLengths[cp.Sample]--; p.prefixLengths[cp.Sample] == 0 {
		delete(p.prefixLengths, cp.Sample)
	}
}

// setChecksums sets the checksums of the checkpoint cp, and the number of bytes that they cover, to those of
// the checkpoint read.
func (p *checkpoints) setChecksums(cp *checkpoint, read *checkpoint) {
	cp.Read, cp.Digest = read.Read, read.Digest
	if cp.Sample == read.Sample && cp.Sum == read.Sum {
		return
	}
	p.unindex(cp)
	cp.Sample, cp.Sum = read.Sample, read.Sum
	if p.byKey[cp.Key] == cp {
		p.index(cp)
	}
}

// remove removes the checkpoint of a file, also from its group.
func (p *checkpoints) remove(cp *checkpoint) {
	p.removeFromGroup(cp)
	p.unindex(cp)
	delete(p.byKey, cp.Key)
	delete(p.withoutGroup, cp)
}

// removeKey removes the checkpoint of a file, if there is one.
func (p *checkpoints) removeKey(key string) {
	if cp := p.byKey[key]; cp != nil {
		p.remove(cp)
	}
}

// finishedWithoutGroup reports whether the checkpoint of a finished file is in no group.
func (p *checkpoints) finishedWithoutGroup() bool {
	for cp := range p.withoutGroup {
		if cp.finished() {
			return true
		}
	}
	return false
}

// removeFromGroup removes a checkpoint from its group. Call it when a finished file has grown.
func (p *checkpoints) removeFromGroup(cp *checkpoint) {
	if g := cp.group; g != nil {
		g.checkpoints = slices.DeleteFunc(g.checkpoints, func(x *checkpoint) bool { return x == cp })
		g.changed, cp.group = true, nil
		p.withoutGroup[cp] = true
	}
}

// changed records that the checkpoint of a file must be saved again.
func (p *checkpoint) changed() {
	if p.group != nil {
		p.group.changed = true
	}
}

// load reads the checkpoints. It keeps the checkpoints that it could read, even if it returns an
// error.
func (p *checkpoints) load(ctx context.Context) error {
	p.byKey, p.withoutGroup, p.groups, p.byPrefix, p.prefixLengths = map[string]*checkpoint{}, map[*checkpoint]bool{}, nil, nil, nil
	var errs []error
	get := func(key string) (found bool, list []*checkpoint) {
		b, err := p.client.Get(ctx, key)
		if err == nil && len(b) > 0 {
			err, found = json.Unmarshal(b, &list), true
		}
		errs = append(errs, err)
		return found, slices.DeleteFunc(list, func(cp *checkpoint) bool { return cp == nil })
	}
	put := func(cp *checkpoint) {
		if same := p.byKey[cp.Key]; same != nil {
			p.remove(same)
		}
		p.add(cp)
	}
	for i := 0; ; i++ {
		found, list := get(groupKey(i))
		if !found {
			break
		}
		g := &group{key: groupKey(i)}
		p.groups = append(p.groups, g)
		for _, cp := range list {
			put(cp)
			p.assign(cp, g)
		}
		g.changed = false
	}
	_, list := get(keyReading)
	for _, cp := range list {
		put(cp)
	}
	return errors.Join(errs...)
}

func (p *checkpoints) assign(cp *checkpoint, g *group) {
	delete(p.withoutGroup, cp)
	cp.group, g.changed = g, true
	g.checkpoints = append(g.checkpoints, cp)
}

// groupWithSpace returns a group that is not full: the last group, or one from which checkpoints were removed.
func (p *checkpoints) groupWithSpace() *group {
	for _, g := range slices.Backward(p.groups) {
		if len(g.checkpoints) < groupSize {
			return g
		}
	}
	g := &group{key: groupKey(len(p.groups))}
	p.groups = append(p.groups, g)
	return g
}

// save saves all checkpoints that have changed. If finished is true, it moves the checkpoints of finished files to
// groups. If not, it does so when they fill a group; until then, they are saved with the checkpoints of files being
// read, so that a crash loses none of them.
func (p *checkpoints) save(ctx context.Context, finished bool) error {
	var loose, done []*checkpoint
	for cp := range p.withoutGroup {
		if cp.finished() {
			done = append(done, cp)
		} else if cp.Sample > 0 {
			loose = append(loose, cp)
		}
	}
	byKey := func(a, b *checkpoint) int { return strings.Compare(a.Key, b.Key) }
	if finished || len(done) >= groupSize {
		slices.SortFunc(done, byKey)
		g := &group{checkpoints: make([]*checkpoint, groupSize)} // full
		for _, cp := range done {
			if len(g.checkpoints) >= groupSize {
				g = p.groupWithSpace()
			}
			p.assign(cp, g)
		}
	} else {
		loose = append(loose, done...)
	}
	slices.SortFunc(loose, byKey)
	var operations []*storage.Operation
	set := func(key string, list []*checkpoint) error {
		b, err := json.Marshal(list)
		operations = append(operations, storage.SetOperation(key, b))
		return err
	}
	if err := set(keyReading, loose); err != nil {
		return err
	}
	var saved []*group
	for _, g := range p.groups {
		if g.changed {
			saved = append(saved, g)
			if err := set(g.key, g.checkpoints); err != nil {
				return err
			}
		}
	}
	err := p.client.Batch(ctx, operations...)
	if err == nil {
		for _, g := range saved {
			g.changed = false
		}
	}
	return err
}
