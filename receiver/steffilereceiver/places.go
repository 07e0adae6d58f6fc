// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// place is the position up to which a file was delivered.
type place struct {
	// Key is the path of the file without the suffix of active files.
	Key string `json:"key"`
	// Sum is the checksum of the first Sample bytes. It shows whether a file of the same
	// name is another file, and identifies a file that was renamed.
	Sample int    `json:"sample"`
	Sum    string `json:"sum"`
	// Records is the number of delivered records, and Offset the end of the last delivered
	// frame. In a file of messages, Records counts the records of the message that begins
	// at Message, and Earlier the records of the previous messages.
	Records uint64 `json:"records"`
	Offset  int64  `json:"offset"`
	Message int64  `json:"message,omitempty"`
	Earlier uint64 `json:"earlier,omitempty"`
	// Digest is the checksum of the first Read bytes, which were read to deliver the
	// records. A file that begins with other bytes is another file, and is delivered from
	// its beginning.
	Read   int64  `json:"read,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Size and Modified are the size and the modification time (Unix nanoseconds) of the
	// file when it was finished.
	Size     int64 `json:"size,omitempty"`
	Modified int64 `json:"modified,omitempty"`
	// Seen is when the file was first found missing, in Unix seconds. It is 0 while the file
	// exists.
	Seen int64 `json:"seen,omitempty"`

	// Outcome is how the file ended. It is "" while the file is being read.
	Outcome string `json:"outcome,omitempty"`
	kept    bool   // on_finished was applied to the finished file
	// opened describes the file when this process last opened it and compared it with the place.
	opened fs.FileInfo
	group  *group // nil: the place is stored with those of files being read

	grew   time.Time // when a pass saw that the file had grown, on the monotonic clock
	closed *closed   // the file when makeRoom closed it, nil if it was not closed
	ahead  time.Time // a modification time in the future
	since  time.Time // when a pass first saw ahead, on the monotonic clock
}

// closed describes a file that was read to its end, and then closed to make room for others.
type closed struct {
	file     fs.FileInfo // identifies the file
	size     int64       // size when the file was read
	modified time.Time
}

// exhausted reports whether the file was closed after it was read to its end, and has not changed
// since it was read.
func (p *place) exhausted(info fs.FileInfo) bool {
	c := p.closed
	return c != nil && !p.finished() && os.SameFile(c.file, info) && c.size == info.Size() && c.modified.Equal(info.ModTime())
}

// age returns the time since a file was modified. If the modification time is in the future, for
// example because the clock was set back, it returns the time since this modification time was first seen.
func (p *place) age(modified time.Time) time.Duration {
	age := time.Since(modified)
	if age >= 0 {
		return age
	}
	if !p.ahead.Equal(modified) {
		p.ahead, p.since = modified, time.Now()
	}
	return time.Since(p.since)
}

func (p *place) finished() bool { return p.Outcome != "" }

// unchanged reports whether the file is finished and was not written to since then.
func (p *place) unchanged(info fs.FileInfo) bool {
	return p.finished() && p.Size == info.Size() && p.Modified == info.ModTime().UnixNano()
}

// ended notes the outcome of a finished file, and its size and modification time.
func (p *place) ended(outcome string, info fs.FileInfo) {
	p.Outcome, p.Size, p.Modified = outcome, info.Size(), info.ModTime().UnixNano()
}

// delivered returns how many records of the file were delivered.
func (p *place) delivered() uint64 { return p.Earlier + p.Records }

// sampleBytes is the maximum of Sample: how many bytes of a file the checksum Sum covers.
const sampleBytes = 1 << 10

// Places of missing files are kept for some time, because a folder may be mounted late.
const (
	maxPlaces   = 10_000
	forgetAfter = 24 * time.Hour
)

// open returns the place of an open file: the position up to which it was delivered. listed are the
// keys of all existing files.
func (p *places) open(file *os.File, key string, listed map[string]bool) (*place, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	one, err := p.find(file, key, listed)
	if one != nil {
		one.opened = info
	}
	return one, err
}

func (p *places) find(file *os.File, key string, listed map[string]bool) (*place, error) {
	one := p.of[key]
	if one != nil {
		same, err := one.matches(file)
		if same || err != nil {
			return one, err
		}
		// This is another file of the same name: the previous file may have been
		// renamed.
		p.putAside(one)
	}
	found, err := p.renamed(file, listed)
	if err != nil {
		return nil, err
	}
	if found != nil {
		p.rename(found, key)
		return found, nil
	}
	one = &place{Key: key}
	p.add(one)
	return one, nil
}

// renamed returns the place of a file that was renamed, or nil. Such a place has the key of the former name.
// The former name does not exist any more, or it is the name of another file now.
func (p *places) renamed(file *os.File, listed map[string]bool) (found *place, err error) {
	begins, err := p.beginning(file, listed)
	if err != nil || len(begins) == 0 {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	// Sort the places by the number of bytes read, so that one pass over the file computes
	// all digests. Use the last match: it is the place with the most bytes read.
	slices.SortFunc(begins, func(a, b *place) int { return cmp.Or(cmp.Compare(a.Read, b.Read), strings.Compare(a.Key, b.Key)) })
	var read digest
	for _, one := range begins {
		same, err := one.contains(file, info, &read)
		if err != nil {
			return nil, err
		}
		switch {
		case !same:
		case !listed[one.Key] || one.replaced():
			found = one
		default:
			p.settle(one)
		}
	}
	return found, nil
}

// putAside gives a place another key, so that another file can have the key. The file of the place
// may have been renamed.
func (p *places) putAside(one *place) { p.rename(one, one.Key+" before "+one.Sum) }

// rename changes the key of a place.
func (p *places) rename(one *place, key string) {
	delete(p.of, one.Key)
	if other := p.of[key]; other != nil {
		p.remove(other)
	}
	p.unindex(one)
	one.Key, one.kept = key, false
	if one.group == nil {
		p.add(one) // again, if it was removed: an open file may have been missing for longer than forgetAfter
		return
	}
	p.of[key] = one
	p.index(one)
	one.changed()
}

// beginning returns the places whose first bytes are those of a file, and whose name may not have their
// file any more.
func (p *places) beginning(file *os.File, listed map[string]bool) (list []*place, err error) {
	for n := range p.samples {
		sum, read, err := sample(file, n)
		if err != nil {
			return nil, err
		}
		a := p.begin[mark{n, sum}]
		if read != n || a == nil {
			continue
		}
		if a.pass != p.pass {
			a.pass, a.unsettled = p.pass, slices.Clone(a.places)
		}
		a.unsettled = slices.DeleteFunc(a.unsettled, func(one *place) bool { return listed[one.Key] && one.untouched() })
		list = append(list, a.unsettled...)
	}
	return list, nil
}

// settle notes that the name of a place has its file in this pass.
func (p *places) settle(one *place) {
	if a := p.begin[mark{one.Sample, one.Sum}]; a != nil {
		a.unsettled = without(a.unsettled, one)
	}
}

// begins reports whether a file has the first bytes of the place.
func (p *place) begins(file *os.File) (bool, error) {
	sum, n, err := sample(file, p.Sample)
	return err == nil && n == p.Sample && sum == p.Sum, err
}

// contains reports whether a file contains all bytes that were read when the place was stored. The
// caller must have compared the first bytes with Sum. info describes the file. read is a digest of
// at most the first p.Read bytes of the file; contains extends it.
func (p *place) contains(file *os.File, info fs.FileInfo, read *digest) (bool, error) {
	switch {
	case p.unchanged(info):
		return true, nil
	case info.Size() < max(p.Read, p.Offset):
		return false, nil
	case p.Digest == "": // stored by a version without digests
		return true, nil
	}
	sum, err := read.upTo(file, p.Read)
	return err == nil && sum == p.Digest, err
}

// untouched reports whether the path of the place has no file, or the file that was opened, without changes.
func (p *place) untouched() bool {
	info, err := os.Stat(p.Key)
	return err != nil || p.opened != nil && os.SameFile(info, p.opened) && info.Size() == p.opened.Size() && info.ModTime().Equal(p.opened.ModTime())
}

// replaced reports whether the path of the place has another file now.
func (p *place) replaced() bool {
	if p.untouched() {
		return false
	}
	file, err := os.Open(p.Key)
	if err != nil {
		return false
	}
	defer file.Close()
	same, err := p.matches(file)
	return err == nil && !same
}

// matches reports whether a file begins with the bytes whose checksums the place has.
func (p *place) matches(file *os.File) (bool, error) {
	if p.Sample == 0 {
		return true, nil
	}
	same, err := p.begins(file)
	if !same || err != nil {
		return false, err
	}
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	return p.contains(file, info, &digest{})
}

// digest is the checksum of the beginning of a file. Bytes are added to it when they are
// read, each byte once.
type digest struct {
	sum  hash.Hash
	end  int64
	text string // the checksum, if it was returned
}

// upTo returns the checksum of the bytes of a file before end. end must not decrease from
// call to call.
func (d *digest) upTo(file io.ReaderAt, end int64) (string, error) {
	if end == d.end && d.text != "" {
		return d.text, nil
	}
	if d.sum == nil {
		d.sum = sha256.New()
	}
	n, err := io.Copy(d.sum, io.NewSectionReader(file, d.end, end-d.end))
	d.end += n
	if err == nil && d.end < end {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		*d = digest{}
		return "", err
	}
	d.text = hex.EncodeToString(d.sum.Sum(nil)[:12])
	return d.text, nil
}

// wasRead notes that the file was read up to an offset.
func (p *place) wasRead(file io.ReaderAt, d *digest, end int64) error {
	if end <= p.Read {
		return nil
	}
	sum, err := d.upTo(file, end)
	if err == nil {
		p.Read, p.Digest = end, sum
	}
	return err
}

// identify stores a checksum of the first bytes of a file to recognise the file later. The file
// has at least end bytes.
func (p *place) identify(file *os.File, end int64) error {
	if p.Sample == sampleBytes || int64(p.Sample) >= end {
		return nil
	}
	sum, n, err := sample(file, int(min(end, sampleBytes)))
	if err == nil {
		p.Sum, p.Sample = sum, n
	}
	return err
}

func sample(file *os.File, n int) (string, int, error) {
	b := make([]byte, min(n, sampleBytes))
	n, err := file.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	sum := sha256.Sum256(b[:n])
	return hex.EncodeToString(sum[:12]), n, err
}

// forget removes the places of files that have been missing for longer than forgetAfter. If more
// than maxPlaces files are missing, it also removes the places of the files that have been missing
// longest. It reports whether it removed a place.
func (p *places) forget(listed map[string]bool, now time.Time) (changed bool) {
	var gone []*place
	for key, one := range p.of {
		if listed[key] {
			if one.Seen != 0 {
				one.Seen = 0
				one.changed()
			}
			continue
		}
		if one.Seen == 0 {
			one.Seen = now.Unix()
			one.changed()
		}
		gone = append(gone, one)
	}
	slices.SortFunc(gone, func(a, b *place) int { return int(a.Seen - b.Seen) })
	for i, one := range gone {
		if len(gone)-i > maxPlaces || now.Unix()-one.Seen > int64(forgetAfter/time.Second) {
			p.remove(one)
			changed = true
		}
	}
	return changed
}
