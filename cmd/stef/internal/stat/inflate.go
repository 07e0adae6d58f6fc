// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stat

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// inflater decompresses the content of frames. It receives one frame at a time;
// the zstd stream continues in the next frame.
//
// spec: #compression
type inflater struct {
	dec *zstd.Decoder
	in  bytes.Buffer
}

func (z *inflater) content(packed []byte, size int, restart bool) ([]byte, error) {
	if restart || z.dec == nil {
		if err := z.restart(); err != nil {
			return nil, err
		}
	}
	z.in.Write(packed)
	content := make([]byte, size)
	if _, err := io.ReadFull(z.dec, content); err != nil {
		return nil, fmt.Errorf("decompressing a frame: %w", err)
	}
	return content, nil
}

func (z *inflater) restart() error {
	z.in.Reset()
	// Hide the type *bytes.Buffer: the decoder would assume that it contains the whole input.
	src := struct{ io.Reader }{&z.in}
	if z.dec != nil {
		return z.dec.Reset(src)
	}
	dec, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(dynamic.MaxWindowBytes))
	z.dec = dec
	return err
}

func (z *inflater) close() {
	if z.dec != nil {
		z.dec.Close()
	}
}
