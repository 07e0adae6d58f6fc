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

// checkpoint is the position up to which a file was delivered.
type checkpoint struct {
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
	// opened describes the file when this process last opened it and compared it with the checkpoint.
	opened fs.FileInfo
	group  *group // nil: the checkpoint is stored with those of files being read

	grewAt     time.Time // when a pass saw that the file had grown, on the monotonic clock
	closed     *closed   // the file when makeRoom closed it, nil if it was not closed
	futureTime time.Time // a modification time in the future
	futureSeen time.Time // when a pass first saw futureTime, on the monotonic clock
}

// closed describes a file that was read to its end, and then closed to make room for others.
type closed struct {
	file     fs.FileInfo // identifies the file
	size     int64       // size when the file was read
	modified time.Time
}

// exhausted reports whether the file was closed after it was read to its end, and has not changed
// since it was read.
func (p *checkpoint) exhausted(info fs.FileInfo) bool {
	c := p.closed
	return c != nil && !p.finished() && os.SameFile(c.file, info) && c.size == info.Size() && c.modified.Equal(info.ModTime())
}

// age returns the time since a file was modified. If the modification time is in the future, for
// example because the clock was set back, it returns the time since this modification time was first seen.
func (p *checkpoint) age(modified time.Time) time.Duration {
	age := time.Since(modified)
	if age >= 0 {
		return age
	}
	if !p.futureTime.Equal(modified) {
		p.futureTime, p.futureSeen = modified, time.Now()
	}
	return time.Since(p.futureSeen)
}

func (p *checkpoint) finished() bool { return p.Outcome != "" }

// unchanged reports whether the file is finished and was not written to since then.
func (p *checkpoint) unchanged(info fs.FileInfo) bool {
	return p.finished() && p.Size == info.Size() && p.Modified == info.ModTime().UnixNano()
}

// setOutcome notes the outcome of a finished file, and its size and modification time.
func (p *checkpoint) setOutcome(outcome string, info fs.FileInfo) {
	p.Outcome, p.Size, p.Modified = outcome, info.Size(), info.ModTime().UnixNano()
}

// delivered returns how many records of the file were delivered.
func (p *checkpoint) delivered() uint64 { return p.Earlier + p.Records }

// sampleBytes is the maximum of Sample: how many bytes of a file the checksum Sum covers.
const sampleBytes = 1 << 10

// Checkpoints of missing files are kept for some time, because a folder may be mounted late.
const (
	maxMissing  = 10_000
	forgetAfter = 24 * time.Hour
)

// open returns the checkpoint of an open file: the position up to which it was delivered. listed are the
// keys of all existing files.
func (p *checkpoints) open(file *os.File, key string, listed map[string]bool) (*checkpoint, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	cp, err := p.find(file, key, listed)
	if cp != nil {
		cp.opened = info
	}
	return cp, err
}

func (p *checkpoints) find(file *os.File, key string, listed map[string]bool) (*checkpoint, error) {
	cp := p.byKey[key]
	if cp != nil {
		same, err := cp.matches(file)
		if same || err != nil {
			return cp, err
		}
		// This is another file of the same name: the previous file may have been
		// renamed.
		p.renameReplaced(cp)
	}
	found, err := p.renamed(file, listed)
	if err != nil {
		return nil, err
	}
	if found != nil {
		p.rename(found, key)
		return found, nil
	}
	cp = &checkpoint{Key: key}
	p.add(cp)
	return cp, nil
}

// renamed returns the checkpoint of a file that was renamed, or nil. Such a checkpoint has the key of the former name.
// The former name does not exist any more, or it is the name of another file now.
func (p *checkpoints) renamed(file *os.File, listed map[string]bool) (found *checkpoint, err error) {
	begins, err := p.withPrefixOf(file, listed)
	if err != nil || len(begins) == 0 {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	// Sort the checkpoints by the number of bytes read, so that one pass over the file computes
	// all digests. Use the last match: it is the checkpoint with the most bytes read.
	slices.SortFunc(begins, func(a, b *checkpoint) int { return cmp.Or(cmp.Compare(a.Read, b.Read), strings.Compare(a.Key, b.Key)) })
	var read digest
	for _, cp := range begins {
		same, err := cp.contains(file, info, &read)
		if err != nil {
			return nil, err
		}
		switch {
		case !same:
		case !listed[cp.Key] || cp.pathHasOtherFile():
			found = cp
		default:
			p.markChecked(cp)
		}
	}
	return found, nil
}

// renameReplaced gives a checkpoint another key, so that another file can have its key. The file of the
// checkpoint may have been renamed.
func (p *checkpoints) renameReplaced(cp *checkpoint) { p.rename(cp, cp.Key+" before "+cp.Sum) }

// rename changes the key of a checkpoint.
func (p *checkpoints) rename(cp *checkpoint, key string) {
	delete(p.byKey, cp.Key)
	if other := p.byKey[key]; other != nil {
		p.remove(other)
	}
	p.unindex(cp)
	cp.Key, cp.kept = key, false
	if cp.group == nil {
		p.add(cp) // again, if it was removed: an open file may have been missing for longer than forgetAfter
		return
	}
	p.byKey[key] = cp
	p.index(cp)
	cp.changed()
}

// withPrefixOf returns the checkpoints whose files began with the same bytes as a file, and whose path may
// name another file now.
func (p *checkpoints) withPrefixOf(file *os.File, listed map[string]bool) (list []*checkpoint, err error) {
	for n := range p.prefixLengths {
		sum, read, err := sample(file, n)
		if err != nil {
			return nil, err
		}
		a := p.byPrefix[prefixSum{n, sum}]
		if read != n || a == nil {
			continue
		}
		if a.pass != p.pass {
			a.pass, a.unchecked = p.pass, slices.Clone(a.checkpoints)
		}
		a.unchecked = slices.DeleteFunc(a.unchecked, func(cp *checkpoint) bool { return listed[cp.Key] && cp.pathUnchanged() })
		list = append(list, a.unchecked...)
	}
	return list, nil
}

// markChecked records that the path of a checkpoint still names its file in this pass.
func (p *checkpoints) markChecked(cp *checkpoint) {
	if a := p.byPrefix[prefixSum{cp.Sample, cp.Sum}]; a != nil {
		a.unchecked = without(a.unchecked, cp)
	}
}

// hasPrefixOf reports whether a file begins with the first bytes of the checkpoint.
func (p *checkpoint) hasPrefixOf(file *os.File) (bool, error) {
	sum, n, err := sample(file, p.Sample)
	return err == nil && n == p.Sample && sum == p.Sum, err
}

// contains reports whether a file contains all bytes that were read when the checkpoint was stored. The
// caller must have compared the first bytes with Sum. info describes the file. read is a digest of
// at most the first p.Read bytes of the file; contains extends it.
func (p *checkpoint) contains(file *os.File, info fs.FileInfo, read *digest) (bool, error) {
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

// pathUnchanged reports whether the path of the checkpoint has no file, or the file that was opened, without changes.
func (p *checkpoint) pathUnchanged() bool {
	info, err := os.Stat(p.Key)
	return err != nil || p.opened != nil && os.SameFile(info, p.opened) && info.Size() == p.opened.Size() && info.ModTime().Equal(p.opened.ModTime())
}

// pathHasOtherFile reports whether the path of the checkpoint has another file now.
func (p *checkpoint) pathHasOtherFile() bool {
	if p.pathUnchanged() {
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

// matches reports whether a file begins with the bytes whose checksums the checkpoint has.
func (p *checkpoint) matches(file *os.File) (bool, error) {
	if p.Sample == 0 {
		return true, nil
	}
	same, err := p.hasPrefixOf(file)
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

// setDigest records that the file was read up to the offset end.
func (p *checkpoint) setDigest(file io.ReaderAt, d *digest, end int64) error {
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
func (p *checkpoint) identify(file *os.File, end int64) error {
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

// forget removes the checkpoints of files that have been missing for longer than forgetAfter. If more
// than maxMissing files are missing, it also removes the checkpoints of the files that have been missing
// longest. It reports whether it removed a checkpoint.
func (p *checkpoints) forget(listed map[string]bool, now time.Time) (changed bool) {
	var gone []*checkpoint
	for key, cp := range p.byKey {
		if listed[key] {
			if cp.Seen != 0 {
				cp.Seen = 0
				cp.changed()
			}
			continue
		}
		if cp.Seen == 0 {
			cp.Seen = now.Unix()
			cp.changed()
		}
		gone = append(gone, cp)
	}
	slices.SortFunc(gone, func(a, b *checkpoint) int { return int(a.Seen - b.Seen) })
	for i, cp := range gone {
		if len(gone)-i > maxMissing || now.Unix()-cp.Seen > int64(forgetAfter/time.Second) {
			p.remove(cp)
			changed = true
		}
	}
	return changed
}
