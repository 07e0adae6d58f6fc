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

// places has the place of each file of a signal: the position up to which the file was delivered.
// The places of files being read change often, so they are saved separately from the places of
// finished files. Finished files can be many, so their places are saved in groups: a file that
// finishes causes a write of one group, not of all places.
type places struct {
	client storage.Client
	of     map[string]*place
	loose  map[*place]bool // the places without a group: of files being read, and of files that finished recently
	groups []*group

	// begin has the places by the first bytes of their files, and samples the number of places by Sample.
	// Without them, each new file would be compared with all places.
	begin   map[mark]*alike
	samples map[int]int
	pass    int // number of the pass over the folder
}

// alike contains the places of files with the same first bytes.
type alike struct {
	places []*place
	// unsettled are the places whose name may not have their file any more. In each pass, a place is
	// settled once, and not for each new file: a folder may have many copies of one file.
	unsettled []*place
	pass      int // the pass that unsettled is about
}

// without removes a place from a list, whose order has no meaning.
func without(list []*place, one *place) []*place {
	i := slices.Index(list, one)
	if i < 0 {
		return list
	}
	last := len(list) - 1
	list[i], list[last] = list[last], nil
	return list[:last]
}

// mark identifies the first bytes of a file: see Sample and Sum of place.
type mark struct {
	sample int
	sum    string
}

// group contains the places of finished files that are stored under one key of the storage.
type group struct {
	key    string
	places []*place
	stale  bool // the places have changed since the last save
}

const (
	keyReading  = "reading"
	keyFinished = "finished" // the key of the first group; the keys of the other groups end with a number
	// groupPlaces is the number of places in a full group. At most this number of finished places
	// without a group are saved with each batch of a file that is being read.
	groupPlaces = 32
)

func groupKey(i int) string {
	if i == 0 {
		return keyFinished
	}
	return fmt.Sprint(keyFinished, " ", i)
}

// add adds the place of a file. The place is in no group yet.
func (p *places) add(one *place) {
	if p.loose == nil {
		p.loose = map[*place]bool{}
	}
	p.of[one.Key], p.loose[one] = one, true
	p.index(one)
}

// index adds a place to begin, and counts it in samples.
func (p *places) index(one *place) {
	if one.Sample == 0 {
		return
	}
	if p.begin == nil {
		p.begin, p.samples = map[mark]*alike{}, map[int]int{}
	}
	m := mark{one.Sample, one.Sum}
	a := p.begin[m]
	if a == nil {
		a = &alike{}
		p.begin[m] = a
	}
	a.places, a.unsettled = append(a.places, one), append(a.unsettled, one)
	p.samples[one.Sample]++
}

// unindex is the inverse of index.
func (p *places) unindex(one *place) {
	m := mark{one.Sample, one.Sum}
	a := p.begin[m]
	if a == nil || !slices.Contains(a.places, one) {
		return
	}
	a.places, a.unsettled = without(a.places, one), without(a.unsettled, one)
	if len(a.places) == 0 {
		delete(p.begin, m)
	}
	if p.samples[one.Sample]--; p.samples[one.Sample] == 0 {
		delete(p.samples, one.Sample)
	}
}

// wasRead sets the checksums of the place one, and the number of bytes that they cover, to those of
// the place read.
func (p *places) wasRead(one *place, read *place) {
	one.Read, one.Digest = read.Read, read.Digest
	if one.Sample == read.Sample && one.Sum == read.Sum {
		return
	}
	p.unindex(one)
	one.Sample, one.Sum = read.Sample, read.Sum
	if p.of[one.Key] == one {
		p.index(one)
	}
}

// remove removes the place of a file, also from its group.
func (p *places) remove(one *place) {
	p.loosen(one)
	p.unindex(one)
	delete(p.of, one.Key)
	delete(p.loose, one)
}

// removeKey removes the place of a file, if there is one.
func (p *places) removeKey(key string) {
	if one := p.of[key]; one != nil {
		p.remove(one)
	}
}

// ungrouped reports whether the place of a finished file is in no group.
func (p *places) ungrouped() bool {
	for one := range p.loose {
		if one.finished() {
			return true
		}
	}
	return false
}

// loosen removes a place from its group. Call it when a finished file has grown.
func (p *places) loosen(one *place) {
	if g := one.group; g != nil {
		g.places = slices.DeleteFunc(g.places, func(x *place) bool { return x == one })
		g.stale, one.group = true, nil
		p.loose[one] = true
	}
}

// changed notes that the place of a file must be saved again.
func (p *place) changed() {
	if p.group != nil {
		p.group.stale = true
	}
}

// load reads the places. It keeps the places that it could read, even if it returns an
// error.
func (p *places) load(ctx context.Context) error {
	p.of, p.loose, p.groups, p.begin, p.samples = map[string]*place{}, map[*place]bool{}, nil, nil, nil
	var errs []error
	get := func(key string) (found bool, list []*place) {
		b, err := p.client.Get(ctx, key)
		if err == nil && len(b) > 0 {
			err, found = json.Unmarshal(b, &list), true
		}
		errs = append(errs, err)
		return found, slices.DeleteFunc(list, func(one *place) bool { return one == nil })
	}
	put := func(one *place) {
		if same := p.of[one.Key]; same != nil {
			p.remove(same)
		}
		p.add(one)
	}
	for i := 0; ; i++ {
		found, list := get(groupKey(i))
		if !found {
			break
		}
		g := &group{key: groupKey(i)}
		p.groups = append(p.groups, g)
		for _, one := range list {
			put(one)
			p.assign(one, g)
		}
		g.stale = false
	}
	_, list := get(keyReading)
	for _, one := range list {
		put(one)
	}
	return errors.Join(errs...)
}

func (p *places) assign(one *place, g *group) {
	delete(p.loose, one)
	one.group, g.stale = g, true
	g.places = append(g.places, one)
}

// room returns a group that is not full: the last group, or one from which places were removed.
func (p *places) room() *group {
	for _, g := range slices.Backward(p.groups) {
		if len(g.places) < groupPlaces {
			return g
		}
	}
	g := &group{key: groupKey(len(p.groups))}
	p.groups = append(p.groups, g)
	return g
}

// save saves all places that have changed. If finished is true, it moves the places of finished files to
// groups. If not, it does so when they fill a group; until then, they are saved with the places of files being
// read, so that a crash loses none of them.
func (p *places) save(ctx context.Context, finished bool) error {
	var loose, done []*place
	for one := range p.loose {
		if one.finished() {
			done = append(done, one)
		} else if one.Sample > 0 {
			loose = append(loose, one)
		}
	}
	byKey := func(a, b *place) int { return strings.Compare(a.Key, b.Key) }
	if finished || len(done) >= groupPlaces {
		slices.SortFunc(done, byKey)
		g := &group{places: make([]*place, groupPlaces)} // full
		for _, one := range done {
			if len(g.places) >= groupPlaces {
				g = p.room()
			}
			p.assign(one, g)
		}
	} else {
		loose = append(loose, done...)
	}
	slices.SortFunc(loose, byKey)
	var operations []*storage.Operation
	set := func(key string, list []*place) error {
		b, err := json.Marshal(list)
		operations = append(operations, storage.SetOperation(key, b))
		return err
	}
	if err := set(keyReading, loose); err != nil {
		return err
	}
	var saved []*group
	for _, g := range p.groups {
		if g.stale {
			saved = append(saved, g)
			if err := set(g.key, g.places); err != nil {
				return err
			}
		}
	}
	err := p.client.Batch(ctx, operations...)
	if err == nil {
		for _, g := range saved {
			g.stale = false
		}
	}
	return err
}
