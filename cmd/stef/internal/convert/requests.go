// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
)

// Requests sums the sizes of OTLP requests, each compressed alone with zstd, as
// an exporter of OTLP sends them. gRPC adds some bytes to each request, which
// are not counted.
type Requests struct {
	// N counts the requests that have items. Items counts the items of these requests.
	N     int
	Items uint64
	// Plain and Zstd are the bytes of the requests, uncompressed and with zstd.
	Plain, Zstd int64

	encoder *zstd.Encoder
	packed  []byte
}

// NewRequests returns an empty sum.
func NewRequests() (*Requests, error) {
	// Use the settings with which package cli compresses gRPC messages.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return &Requests{encoder: encoder}, nil
}

// add adds a batch of items. On a nil receiver it does nothing.
func (r *Requests) add(b otlpfile.Batch, items int) error {
	if r == nil || items == 0 {
		return nil
	}
	request, err := asSent(b)
	if err != nil {
		return err
	}
	r.packed = r.encoder.EncodeAll(request, r.packed[:0])
	r.N++
	r.Items += uint64(items)
	r.Plain += int64(len(request))
	r.Zstd += int64(len(r.packed))
	return nil
}

// asSent returns the request that a Collector sends for a batch: the encoding of pdata. Other
// writers of OTLP encode the same items to other bytes.
func asSent(b otlpfile.Batch) ([]byte, error) {
	if !b.HasPdata() {
		var err error
		if b, err = otlpfile.Unmarshal(b.Signal, b.OTLP); err != nil {
			return nil, err
		}
	}
	b.OTLP = nil
	return b.Marshal()
}

// RequestsOf reads a stream of a root to its end, or to the first damaged frame, and
// converts each frame to an OTLP request. It returns the sums over these requests.
func RequestsOf(src io.Reader, root *stream.Root) (*Requests, error) {
	c, ok := conversions[root.Signal]
	if !ok {
		return nil, fmt.Errorf("%w: only telemetry can be an OTLP request", ErrUnsupported)
	}
	r, err := NewRequests()
	if err != nil {
		return nil, err
	}
	dec, err := c.toBytes(src, nil)
	if err != nil {
		return nil, err
	}
	for {
		b, err := dec.Decode()
		if err == io.EOF {
			return r, nil
		}
		var items *skipped
		if err != nil && !errors.As(err, &items) {
			return r, err
		}
		if err := r.add(b, countOTLP(b)); err != nil {
			return nil, err
		}
	}
}
