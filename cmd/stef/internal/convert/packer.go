// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/otelstef/stef/internal/otlpfile"
)

// packer compresses an output as its name implies. It writes nothing before the
// first byte of content, so that an earlier error leaves no output.
type packer struct {
	w           io.Writer
	compression otlpfile.Compression
	packed      compressor
	err         error
}

// compressor is a writer of package gzip or zstd.
type compressor interface {
	io.WriteCloser
	Flush() error
}

// newPacker returns a packer for an output with a name.
func newPacker(w io.Writer, name string) *packer {
	return &packer{w: w, compression: otlpfile.CompressionOf(name)}
}

// Write writes content.
func (p *packer) Write(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	if p.compression == otlpfile.None {
		return p.w.Write(b)
	}
	if err := p.begin(); err != nil {
		return 0, err
	}
	return p.packed.Write(b)
}

func (p *packer) begin() error {
	if p.packed != nil || p.err != nil {
		return p.err
	}
	if p.compression == otlpfile.Gzip {
		p.packed = gzip.NewWriter(p.w)
		return nil
	}
	p.packed, p.err = zstd.NewWriter(p.w, zstd.WithEncoderConcurrency(1))
	return p.err
}

// Flush passes on everything that was written, so that a reader of the unfinished output can
// decompress it.
func (p *packer) Flush() error {
	if p.packed == nil {
		return p.err
	}
	return p.packed.Flush()
}

// Close ends the compression. It also writes a valid empty file if there is no
// content.
func (p *packer) Close() error {
	if p.compression == otlpfile.None {
		return nil
	}
	if err := p.begin(); err != nil {
		return err
	}
	return p.packed.Close()
}
