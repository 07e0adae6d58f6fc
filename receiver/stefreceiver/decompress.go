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
	// smallRequest is the maximum decompressed size of a request with a small permit (see
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
// A request needs a permit to be decompressed. Clients share the permits fairly. A request
// first acquires a small permit, unless its client has no credit. If the decompressed size
// exceeds smallRequest or the credit of the client, the request drops the decompressed bytes,
// releases the small permit, and waits for one of the few large permits. So small requests do not
// wait for large requests. There are half as many large permits as processors, so half of the
// processors remain for other clients. A waiting request keeps its compressed bytes, and is
// admitted by their size.
type decompression struct {
	small, large fairSemaphore
	throttle     *throttle // for expensive requests
	maxSize      int64     // maximum size of a request after decompression
	busy         limitedLog
	logger       *zap.Logger
}

func newDecompression(maxSize int64, throttle *throttle, logger *zap.Logger) *decompression {
	return &decompression{
		small:    newFairSemaphore(maxConcurrentDecoders(), math.MaxInt64),
		large:    newFairSemaphore(maxLargePermits(), math.MaxInt64),
		throttle: throttle,
		maxSize:  maxSize,
		logger:   logger,
	}
}

func maxLargePermits() int64 { return int64(max(1, runtime.GOMAXPROCS(0)/2)) }

func (d *decompression) waiting() int64 {
	_, small := d.small.state()
	_, large := d.large.state()
	_, expensive := d.throttle.state()
	return small + large + expensive
}

// decompressionPermit is the permission to decompress a request. The request keeps it until the
// decompressed request is admitted.
type decompressionPermit struct {
	semaphore *fairSemaphore
	usage     *usage
}

// release releases the permit, if there is one. It may be called more than once.
func (p *decompressionPermit) release() {
	if p.semaphore != nil {
		p.semaphore.release(p.usage, 1)
		p.semaphore = nil
	}
}

// acquire releases the current permit, and waits for a permit of s.
func (p *decompressionPermit) acquire(ctx context.Context, s *fairSemaphore, client *usage) error {
	p.release()
	if err := s.acquire(ctx, client, 1); err != nil {
		return err
	}
	p.semaphore, p.usage = s, client
	return nil
}

// run acquires a permit to decompress a request, and decompresses it. The caller must
// release the permit. run returns the error of the context, or a status: RESOURCE_EXHAUSTED if
// the request or its window is too large, INVALID_ARGUMENT if the request cannot be decompressed.
func (d *decompression) run(ctx context.Context, request *otlpRequest, permit *decompressionPermit) error {
	cost, client := request.cost, request.cost.client
	limit := min(smallRequest, d.maxSize, cost.affordable())
	var plain mem.BufferSlice
	err := errLarger
	if limit > 0 {
		if err := permit.acquire(ctx, &d.small, &client.small); err != nil {
			return err
		}
		plain, err = decompress(ctx, request, limit)
	}
	if errors.Is(err, errLarger) && limit < d.maxSize {
		permit.release()
		if err := cost.acquirePermit(ctx); err != nil {
			return err
		}
		d.logLarge()
		if err := permit.acquire(ctx, &d.large, &client.large); err != nil {
			return err
		}
		plain, err = decompress(ctx, request, d.maxSize)
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
	if inUse, waiting := d.large.state(); inUse+waiting < maxLargePermits() {
		return
	}
	if skipped, ok := d.busy.due(); ok {
		d.logger.Warn("Compressed OTLP requests of more than 4 MiB wait, because other requests are being decompressed. Senders with smaller batches would not wait.",
			zap.Int64("large_permits", maxLargePermits()), zap.Int64("waiting", d.waiting()), zap.Int64("not_logged", skipped))
	}
}

var errLarger = errors.New("larger than allowed")

func (d *decompression) refusal(err error) error {
	switch {
	case errors.Is(err, errLarger):
		return exceeds(requestSize, "the request is larger than %d bytes after decompression (max_recv_msg_size_mib): send smaller batches", d.maxSize)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return exceeds(requestWindow, "the zstd window of the request is larger than %d bytes: use a smaller window or a lower level at the client", maxRequestWindow)
	}
	return invalid(fmt.Errorf("cannot decompress the request: %w", err))
}

// decompress returns the decompressed bytes of a request, if they are not more than limit. It does
// not change the request.
func decompress(ctx context.Context, request *otlpRequest, limit int64) (mem.BufferSlice, error) {
	wire := request.data.Reader()
	defer wire.Close()
	src, end, err := decompressor(request.compression, wire)
	if err != nil {
		return nil, err
	}
	defer end()
	if limit < math.MaxInt64 {
		src = io.LimitReader(src, limit+1)
	}
	plain, err := mem.ReadAll(request.cost.countBytes(ctx, src), mem.DefaultBufferPool())
	if err == nil && int64(plain.Len()) > limit {
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
