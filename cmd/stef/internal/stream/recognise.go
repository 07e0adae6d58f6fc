// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
)

// UserDataKey is the key in the user data of a stream under which a writer may
// name the root.
const UserDataKey = "stef.root"

// maxLook bounds the number of data frames that Recognise examines.
const maxLook = 8

// ErrRoot is the error of a stream whose root cannot be found.
var ErrRoot = errors.New("cannot determine which records the stream holds")

// Recognise finds the root of an OpenTelemetry stream, see List.Recognise.
func Recognise(src io.Reader) (*Root, io.Reader, error) { return Roots().Recognise(src) }

// Recognise determines which root the records of a stream have, and returns a
// reader of the whole stream that replaces src. It decides by
//
//  1. the schema that the stream announces, if it fits one root only,
//  2. the user data, if UserDataKey is there,
//  3. the data: the first frame decodes without any error as one root only. If
//     it decodes as several roots, as very short frames may, the next frames decide.
//
// For a stream without records, it returns the first root that fits. For a damaged
// stream, it returns the root that decodes at least one record, if there is exactly one:
// reading the stream as that root reports the damage.
func (roots List) Recognise(src io.Reader) (*Root, io.Reader, error) {
	p := prefix{src: bufio.NewReaderSize(src, 64<<10)}
	zstd := p.headers()
	all := func() io.Reader { return io.MultiReader(bytes.NewReader(p.seen), p.src) }
	if p.failed != nil {
		return nil, nil, p.failed
	}
	left, errs := p.fitting(roots)
	if named := p.named(left); named != nil {
		return named, all(), nil
	}
	for looked := 0; looked < maxLook && len(left) > 1 && p.frame(zstd); looked++ {
		left, errs = p.fitting(left)
	}
	if p.failed != nil {
		return nil, nil, p.failed
	}
	switch {
	case len(left) == 1:
		return left[0], all(), nil
	case len(left) == 0:
		if root := roots.furthest(errs); root != nil {
			return root, all(), nil
		}
		return nil, nil, roots.noneFits(errs)
	case p.records == 0:
		return left[0], all(), nil
	}
	return nil, nil, fmt.Errorf("%w: they can be read as %s", ErrRoot, left.joined(" and as "))
}

// Other returns the root that fits a stream, if only one fits and it differs from the given root.
// Otherwise it returns nil. It examines the headers and, if they do not decide, the first frame.
// The returned reader reads the whole stream: use it instead of src.
func (roots List) Other(src io.Reader, root *Root) (*Root, io.Reader) {
	p := prefix{src: bufio.NewReaderSize(src, 64<<10)}
	zstd := p.headers()
	left, _ := p.fitting(roots)
	if p.failed == nil && len(left) != 1 { // the announced schema does not decide
		p.frame(zstd)
		left, _ = p.fitting(roots)
	}
	all := io.MultiReader(bytes.NewReader(p.seen), p.src)
	if p.failed == nil && len(left) == 1 && left[0].Struct != root.Struct {
		return left[0], all
	}
	return nil, all
}

// prefix is the beginning of a stream, up to the end of a frame.
type prefix struct {
	src     *bufio.Reader
	seen    []byte
	records uint64
	// failed is the error of the source. The end of the source is not an error here;
	// reading the prefix reports it.
	failed error
}

// fitting returns the roots that decode the prefix, and the errors of the
// other roots.
func (p *prefix) fitting(candidates List) (List, map[*Root]error) {
	var left List
	errs := map[*Root]error{}
	p.records = 0
	for _, root := range candidates {
		r, err := root.Records(bytes.NewReader(p.seen))
		if err == nil {
			for r.Next() {
			}
			err = r.Err()
			p.records = max(p.records, r.Records())
		}
		if err != nil {
			errs[root] = err
		} else {
			left = append(left, root)
		}
	}
	return left, errs
}

// named returns the root named in the user data, if it is among candidates.
func (p *prefix) named(candidates List) *Root {
	for _, root := range candidates {
		r, err := root.Records(bytes.NewReader(p.seen))
		if err != nil {
			continue
		}
		if name := r.Header().UserData[UserDataKey]; strings.EqualFold(name, root.Name) || name == root.Struct.Name {
			return root
		}
	}
	return nil
}

// furthest returns the only root that decoded a record, or nil if no root or several roots did.
func (roots List) furthest(errs map[*Root]error) *Root {
	var found *Root
	for _, root := range roots {
		var at *dynamic.Error
		if !errors.As(errs[root], &at) || at.Record == 0 {
			continue
		}
		if found != nil {
			return nil
		}
		found = root
	}
	return found
}

// noneFits joins the errors of all roots. If all errors are equal, they do not
// depend on the root, and noneFits returns the first error.
func (roots List) noneFits(errs map[*Root]error) error {
	first := errs[roots[0]]
	same := first != nil && (len(roots) > 1 || !errors.Is(first, dynamic.ErrSchema))
	var all []string
	for _, root := range roots {
		if err := errs[root]; err != nil {
			same = same && err.Error() == first.Error()
			all = append(all, fmt.Sprintf("as %s: %v", root.Name, err))
		}
	}
	if same {
		return first
	}
	text := strings.Join(all, "; ")
	if len(text) > maxErrors && len(roots) > 1 {
		text = fmt.Sprintf("%s; nor as %s", all[0], roots[1:].Names())
	}
	return fmt.Errorf("%w: %s", ErrRoot, text)
}

// maxErrors is the maximum length in bytes of a list with the errors of all roots.
const maxErrors = 200

// headers reads the fixed header and the frame of the variable header. It
// reports whether the frames are compressed with zstd. Parts of the prefix that exceed a limit of
// the format are not read; the record readers report the error.
//
// spec: #fixed-header
func (p *prefix) headers() (zstd bool) {
	if !p.take(len("STEF")) || string(p.seen) != "STEF" {
		return false
	}
	size, ok := p.uvarint()
	if !ok || size > stef.MaxHeaderBytes || !p.take(int(size)) || size < 2 {
		return false
	}
	zstd = p.seen[len(p.seen)-int(size)+1]&3 == uint8(dynamic.Zstd)
	p.frame(zstd)
	return zstd
}

// frame reads a frame and reports whether there was one. The frame may also be the variable header,
// whose smaller limit the record readers check.
//
// spec: #frame
func (p *prefix) frame(zstd bool) bool {
	if !p.take(1) {
		return false
	}
	size, ok := p.uvarint()
	if ok && zstd {
		size, ok = p.uvarint()
	}
	return ok && size <= stef.MaxFrameBytes && p.take(int(size))
}

func (p *prefix) uvarint() (v uint64, ok bool) {
	for shift := 0; shift < 64; shift += 7 {
		if !p.take(1) {
			return 0, false
		}
		b := p.seen[len(p.seen)-1]
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, true
		}
	}
	return 0, false
}

// take appends the next n bytes to p.seen. It returns false if the source has fewer than n bytes.
func (p *prefix) take(n int) bool {
	buf := bytes.NewBuffer(p.seen)
	got, err := io.CopyN(buf, p.src, int64(n))
	p.seen = buf.Bytes()
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) { // the whole frames of a truncated compressed file still count
		p.failed = err
	}
	return got == int64(n)
}
