// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"encoding/binary"
	"math"

	stef "github.com/otelstef/stef/stef-go"
)

// literals decides whether zstd codes the literals of frames with Huffman codes. In small frames of
// integers, ids and references, a code usually saves nothing: the encoder builds a code for each
// block and then discards the code. This takes up to a third of the time of encoding a frame.
//
// The setting of an encoder cannot change, and another encoder does not know the earlier frames. So
// each change of the setting begins a new zstd stream. Until the dictionaries restart, the setting
// changes at most twice: to raw literals if codes save too little, and back to codes if codes would
// save enough.
type literals struct {
	raw   bool // literals get no Huffman code
	sure  bool // literals stay coded until the dictionaries restart
	later bool // the first decision was made

	// frames counts the frames since the last decision. size and total are the bytes of the
	// measured frames before and after compression, and saved is how many bytes codes saved in
	// these frames. While literals are raw, saved is an estimate of what codes would save.
	frames, size, total, saved int
}

const (
	// Literals become raw only if the mean size of frames before compression is less than rawFrame:
	// in larger frames, building codes takes a smaller part of the time. When a frame has
	// codedFrame bytes or more, raw literals end, because such a frame can have many texts.
	rawFrame   = 4 << 10
	codedFrame = 32 << 10
	// The first decision needs at least measuredFrames frames with measuredBytes bytes after
	// compression. It is made early, because a change discards the history to which later frames
	// would refer, and a short history is less useful. Further decisions need laterBytes bytes
	// after compression.
	measuredFrames = 2
	measuredBytes  = 2 << 10
	laterBytes     = 8 << 10
	// While literals are raw, one in checkedFrames frames is measured, because estimates take time.
	// Literals are coded again only after checkedBytes measured bytes, because a few frames are not
	// enough to decide.
	checkedFrames = 4
	checkedBytes  = 4 << 10
	// Literals become raw if codes save less than rawShare of the bytes, and coded if codes
	// would save more than codedShare.
	rawShare   = 0.01
	codedShare = 0.02
)

// before decides whether the literals of the next frame are raw. size is the size of the frame
// before compression. Only LevelFastest has raw literals: the other levels are chosen to save
// bytes.
func (l *literals) before(flags stef.FrameFlags, level stef.Level, size int) (raw bool) {
	if flags&stef.RestartDictionaries != 0 {
		*l = literals{} // measure again, because the frame sends texts again
	}
	if level != stef.LevelFastest || l.raw && size >= codedFrame {
		*l = literals{sure: true}
	}
	return l.raw
}

// after measures a compressed frame. blocks are its bytes, and size is its size before compression. Do not
// call it for frames that restart the compression or the dictionaries: their texts are not typical.
func (l *literals) after(blocks []byte, size int) {
	if l.sure {
		return
	}
	l.frames++
	if l.raw && l.frames%checkedFrames != 0 {
		return
	}
	l.size += size
	l.total += len(blocks)
	l.saved += savedBytes(blocks, l.raw)
	share := float64(l.saved) / float64(l.total)
	switch {
	case l.raw:
		if l.total < checkedBytes {
			return
		}
		l.sure = share > codedShare
		l.raw = !l.sure
	case l.frames < measuredFrames || l.total < measuredBytes || l.later && l.total < laterBytes:
		return
	default:
		l.raw = share < rawShare && l.size/l.frames < rawFrame
	}
	l.later, l.frames, l.size, l.total, l.saved = true, 0, 0, 0, 0
}

// savedBytes parses compressed blocks of zstd. It returns how many bytes smaller the blocks are because
// some of their literals have Huffman codes. If estimate is true, it also counts the other literals:
// it adds how many bytes smaller they would be with Huffman codes.
//
// RFC 8878, section 3.1.1.2.
func savedBytes(blocks []byte, estimate bool) (saved int) {
	const head = 3
	const raw, rle, compressed = 0, 1, 2
	for len(blocks) >= head {
		h := int(blocks[0]) | int(blocks[1])<<8 | int(blocks[2])<<16
		typ, size := h>>1&3, h>>3
		if typ == rle {
			size = 1
		}
		if blocks = blocks[head:]; size > len(blocks) {
			break
		}
		content := blocks[:size]
		blocks = blocks[size:]
		switch {
		case typ == compressed:
			uncoded, plain, coded := literalsOf(content)
			saved += plain - coded
			if estimate {
				saved += len(uncoded) - codedSize(uncoded)
			}
		case typ == raw && estimate:
			saved += size - codedSize(content)
		}
	}
	return saved
}

// literalsOf returns the literals of a compressed block if they have no code. Otherwise it returns
// the number of the literals, and the bytes that they take in the block.
//
// RFC 8878, section 3.1.1.3.1.1.
func literalsOf(block []byte) (uncoded []byte, plain, coded int) {
	const raw, rle = 0, 1
	var b [8]byte
	copy(b[:5], block)
	head := binary.LittleEndian.Uint64(b[:])
	typ, format := head&3, head>>2&3
	if typ != raw && typ != rle {
		width := [4]uint{10, 10, 14, 18}[format]
		mask := uint64(1)<<width - 1
		return nil, int(head >> 4 & mask), int(head >> (4 + width) & mask)
	}
	at, size := 1, int(head>>3&0x1f)
	switch format {
	case 1:
		at, size = 2, int(head>>4&0xfff)
	case 3:
		at, size = 3, int(head>>4&0xfffff)
	}
	if typ == rle {
		return nil, size, 1
	}
	if at+size > len(block) {
		return nil, 0, 0
	}
	return block[at : at+size], 0, 0
}

// codedSize estimates how many bytes literals take with a Huffman code: the entropy of the
// literals, and the table of the code. It returns len(literals) if the encoder would use no code,
// because a code saves too little.
func codedSize(literals []byte) int {
	const (
		// klauspost/compress uses no code for less than fewest literals. It also uses no code that
		// saves less than a thirty-second of the literals.
		fewest, least = 32, 32
		// Codes have whole bits, so they take more than the entropy.
		whole = 1.01
		// The table has a head, and a number for each byte value up to the largest one in literals.
		// Many of these numbers are 0, and take less space than the others.
		head, perByte, perSymbol = 6, 16, 3
	)
	if len(literals) < fewest {
		return len(literals)
	}
	var counts [256]int
	for _, b := range literals {
		counts[b]++
	}
	n, symbols, largest := len(literals), 0, 0
	bits := information(n)
	for b, c := range counts {
		if c > 0 {
			symbols++
			largest = b
			bits -= information(c)
		}
	}
	if coded := int(bits*whole/8) + head + largest/perByte + symbols/perSymbol; coded < n-n/least {
		return coded
	}
	return n
}

// information returns n times the binary logarithm of n.
func information(n int) float64 {
	if n < len(informations) {
		return informations[n]
	}
	return float64(n) * math.Log2(float64(n))
}

var informations = func() (t [64]float64) {
	for n := 1; n < len(t); n++ {
		t[n] = float64(n) * math.Log2(float64(n))
	}
	return t
}()
