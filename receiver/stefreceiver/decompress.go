// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

const (
	// smallRequest is the maximum decompressed size of a request with a small place (see
	// decompression). It is the default message limit of gRPC servers.
	smallRequest = 4 * mib
	// maxRequestWindow is the largest window of zstd in a request. RFC 8878 advises senders
	// not to exceed it. A frame of a few bytes can announce 512 MiB, which a decoder
	// allocates before it reads a byte of the data.
	maxRequestWindow = 8 * mib
)

// decompression bounds the memory of OTLP requests that are being decompressed. gRPC itself
// would decompress each request when its last byte arrives, without a limit on the number of
// requests.
//
// A place is the permission to decompress a request. Clients share the places fairly. A request
// first acquires a small place, unless its client has no credit. If the decompressed size
// exceeds smallRequest or the credit of the client, the request drops the decompressed bytes,
// releases the small place, and waits for one of the few large places. So small requests do not
// wait for large requests. There are half as many large places as processors, so half of the
// processors remain for other clients. A waiting request keeps its compressed bytes, and is
// admitted by their size.
type decompression struct {
	small, large gate
	lanes        *lanes // for expensive requests
	most         int64  // maximum size of a request after decompression
	busy         limitedLog
	logger       *zap.Logger
}

func newDecompression(most int64, lanes *lanes, logger *zap.Logger) *decompression {
	return &decompression{
		small:  newGate(decodingPlaces(), math.MaxInt64),
		large:  newGate(largePlaces(), math.MaxInt64),
		lanes:  lanes,
		most:   most,
		logger: logger,
	}
}

func largePlaces() int64 { return int64(max(1, runtime.GOMAXPROCS(0)/2)) }

func (d *decompression) waiting() int64 {
	_, small := d.small.state()
	_, large := d.large.state()
	_, expensive := d.lanes.state()
	return small + large + expensive
}

// place is the permission to decompress a request. The request keeps its place until the
// decompressed request is admitted.
type place struct {
	gate *gate
	of   *account
}

// release gives up the permission to decompress. It may be called more than once.
func (p *place) release() {
	if p.gate != nil {
		p.gate.release(p.of, 1)
		p.gate = nil
	}
}

// take releases the current permission to decompress, and waits for a permission of g.
func (p *place) take(ctx context.Context, g *gate, of *account) error {
	p.release()
	if err := g.acquire(ctx, of, 1); err != nil {
		return err
	}
	p.gate, p.of = g, of
	return nil
}

// run acquires a permission to decompress (see place) and decompresses a request. The caller must
// release the permission. run returns the error of the context, or a status: RESOURCE_EXHAUSTED if
// the request or its window is too large, INVALID_ARGUMENT if the request cannot be decompressed.
func (d *decompression) run(ctx context.Context, request *otlpRequest, at *place) error {
	toll, who := request.toll, request.toll.who
	most := min(smallRequest, d.most, toll.affordable())
	var plain mem.BufferSlice
	err := errLarger
	if most > 0 {
		if err := at.take(ctx, &d.small, &who.small); err != nil {
			return err
		}
		plain, err = inflate(ctx, request, most)
	}
	if errors.Is(err, errLarger) && most < d.most {
		at.release()
		if err := toll.enterLane(ctx); err != nil {
			return err
		}
		d.logLarge()
		if err := at.take(ctx, &d.large, &who.large); err != nil {
			return err
		}
		plain, err = inflate(ctx, request, d.most)
	}
	if err != nil {
		if gone := ctx.Err(); gone != nil && errors.Is(err, gone) {
			return gone
		}
		return d.refusal(err)
	}
	request.free()
	request.data, request.compression = plain, ""
	return nil
}

func (d *decompression) logLarge() {
	if inUse, waiting := d.large.state(); inUse+waiting < largePlaces() {
		return
	}
	if skipped, ok := d.busy.due(); ok {
		d.logger.Warn("Compressed OTLP requests of more than 4 MiB wait, because other requests are being decompressed. Senders with smaller batches would not wait.",
			zap.Int64("large_places", largePlaces()), zap.Int64("waiting", d.waiting()), zap.Int64("not_logged", skipped))
	}
}

var errLarger = errors.New("larger than allowed")

func (d *decompression) refusal(err error) error {
	switch {
	case errors.Is(err, errLarger):
		return exceeds(requestSize, "the request is larger than %d bytes after decompression (max_recv_msg_size_mib): send smaller batches", d.most)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return exceeds(requestWindow, "the zstd window of the request is larger than %d bytes: use a smaller window or a lower level at the client", maxRequestWindow)
	}
	return invalid(fmt.Errorf("cannot decompress the request: %w", err))
}

// inflate returns the decompressed bytes of a request, up to the limit most. It does not
// change the request.
func inflate(ctx context.Context, request *otlpRequest, most int64) (mem.BufferSlice, error) {
	wire := request.data.Reader()
	defer wire.Close()
	src, end, err := decompressor(request.compression, wire)
	if err != nil {
		return nil, err
	}
	defer end()
	if most < math.MaxInt64 {
		src = io.LimitReader(src, most+1)
	}
	plain, err := mem.ReadAll(request.toll.charge(ctx, src), mem.DefaultBufferPool())
	if err == nil && int64(plain.Len()) > most {
		err = errLarger
	}
	if err != nil {
		plain.Free()
		return nil, err
	}
	return plain, nil
}

// decompressor returns a reader of decompressed bytes, and a function to call at the end.
// For zstd it does not use the decoder of gRPC, which allows windows of 512 MiB.
func decompressor(name string, wire io.Reader) (io.Reader, func(), error) {
	if name == "zstd" {
		d, err := zstdDecoder(wire)
		if err != nil {
			return nil, nil, err
		}
		return d, func() {
			_ = d.Reset(nil)
			zstdDecoders.Put(d)
		}, nil
	}
	registered := encoding.GetCompressor(name) // gRPC refuses names without a compressor
	if registered == nil {
		return nil, nil, fmt.Errorf("unknown compression %q", name)
	}
	src, err := registered.Decompress(wire)
	return src, func() {
		if closer, ok := src.(io.Closer); ok {
			_ = closer.Close()
		}
	}, err
}

var zstdDecoders sync.Pool

func zstdDecoder(wire io.Reader) (*zstd.Decoder, error) {
	if d, ok := zstdDecoders.Get().(*zstd.Decoder); ok {
		return d, d.Reset(wire)
	}
	return zstd.NewReader(wire, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxRequestWindow))
}

// compressionOf returns the compression of a request, or "" if it is not compressed. The
// compressed flags of the messages are already cleared (ReceiveLimit.WithoutDecompression),
// so compressionOf decides by the first byte: an OTLP request begins with the tag of its only
// field. gzip, zstd, snappy, deflate and lz4 begin with other bytes.
func compressionOf(ctx context.Context, data mem.BufferSlice) string {
	stream, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ RecvCompress() string })
	if !ok {
		return ""
	}
	name := stream.RecvCompress()
	if name == encoding.Identity {
		return ""
	}
	const requestTag = 1<<3 | 2
	for _, part := range data {
		if b := part.ReadOnlyData(); len(b) > 0 {
			if b[0] == requestTag {
				return ""
			}
			return name
		}
	}
	return ""
}
