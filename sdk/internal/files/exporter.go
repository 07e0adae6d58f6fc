// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package files writes batches of the SDK to rotating files.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/otelstef/stef/sdk/internal/endpoint"
	"github.com/otelstef/stef/sdk/internal/records"
	"github.com/otelstef/stef/sdk/internal/settings"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/rotate"
)

// Exporter writes the batches of one signal. It is safe for concurrent use.
type Exporter[B any] struct {
	dir    string
	items  func(B) int
	writer *rotate.Writer[stream[B]]
	closed atomic.Bool
	stats  counters

	// exports counts all exports, and exported counts their items. Both include exports that
	// failed.
	exports, exported atomic.Uint64
}

// Files are not compressed while exports have fewer than fewItems items on average. In
// BenchmarkFile, a frame of one span takes twice as long with zstd.
const fewItems = 8

func (x *Exporter[B]) options(c *settings.File) []stef.WriterOption {
	s := c.Stream
	delayed := c.Rotate.FlushInterval > 0
	if n := x.exports.Load(); s.Adapt && !delayed && n > 0 && x.exported.Load() < fewItems*n {
		s.Compression = stef.None
	}
	return s.Writer()
}

type counters struct{ Delivered, Omitted, Failed atomic.Uint64 }

type stream[B any] struct {
	endpoint.Writer
	encode func(B) error
}

// New returns an exporter. Errors of the file system do not make New fail; Export returns
// them. New also returns the settings of the streams.
func New[B any](dir string, options []settings.FileOption, signal *endpoint.Signal[B]) (*Exporter[B], *settings.Stream, error) {
	c, err := settings.ForFiles(signal.Name, dir, options)
	if err != nil {
		return nil, nil, err
	}
	x, compact := &Exporter[B]{dir: c.Rotate.Dir, items: signal.Items}, signal.Compact()
	x.writer, err = rotate.New(c.Rotate, func(dst io.Writer) (stream[B], error) {
		e, err := signal.NewEncoder(dst, append(x.options(c), compact)...)
		return stream[B]{e.Writer, e.Encode}, err
	})
	if err != nil {
		// The error of a bad prefix has no type. TestBadPrefix fails if its text changes.
		if _, rest, ok := strings.Cut(err.Error(), "Options.Prefix is "); ok && c.PrefixVariable != "" {
			return nil, nil, fmt.Errorf("stef: %s is %s", c.PrefixVariable, rest)
		}
		return nil, nil, fmt.Errorf("stef: %w", err)
	}
	return x, &c.Stream, nil
}

// Export writes a batch. It returns nil when the batch is in the file, or in the
// unfinished frame if flushes are delayed.
func (x *Exporter[B]) Export(ctx context.Context, data B) error {
	items := x.items(data)
	if x.closed.Load() {
		return x.late(items)
	}
	if items == 0 {
		return nil
	}
	x.exports.Add(1)
	x.exported.Add(uint64(items))
	err := context.Cause(ctx)
	if err == nil {
		err = x.writer.Write(func(s stream[B]) error { return s.encode(data) })
	}
	if errors.Is(err, rotate.ErrClosed) {
		return x.late(items)
	}
	if err == nil {
		x.stats.Delivered.Add(uint64(items))
		return nil
	}
	return x.fail(items, err)
}

// late counts an export after Shutdown.
func (x *Exporter[B]) late(items int) error {
	x.stats.Failed.Add(uint64(items))
	return endpoint.ErrShutdown
}

// fail counts an export with an error. It is a separate function, because its local
// variables escape: in Export, they would be allocated for each export.
func (x *Exporter[B]) fail(items int, err error) error {
	var left *records.OmittedError
	var broken *rotate.Error
	omitted := 0
	if errors.As(err, &left) {
		omitted = left.Items
	}
	// Items can be in the file although the export failed. If items were omitted, the other items
	// are in the file. If only finishing the file failed, all items are in the file.
	written := left != nil
	if errors.As(err, &broken) {
		written = broken.Lost == 0 && (left != nil || broken.Op == "finish")
	}
	x.stats.Omitted.Add(uint64(omitted))
	if written {
		x.stats.Delivered.Add(uint64(items - omitted))
	} else {
		x.stats.Failed.Add(uint64(items - omitted))
	}
	return fmt.Errorf("stef: files in %s: %w", x.dir, err)
}

// ForceFlush writes the unfinished frame.
func (x *Exporter[B]) ForceFlush(ctx context.Context) error {
	if x.closed.Load() {
		return nil
	}
	return x.do(ctx, x.writer.Flush)
}

// Shutdown finishes the file. Calls after the first call do nothing.
func (x *Exporter[B]) Shutdown(ctx context.Context) error {
	if x.closed.Swap(true) {
		return nil
	}
	return x.do(ctx, x.writer.Close)
}

// do runs work, which waits for the disk. It returns when work returns or ctx ends.
func (x *Exporter[B]) do(ctx context.Context, work func() error) error {
	result := make(chan error, 1)
	go func() { result <- work() }()
	var err error
	select {
	case err = <-result:
	case <-ctx.Done():
		select {
		case err = <-result:
		default:
			err = context.Cause(ctx)
		}
	}
	if err == nil || errors.Is(err, rotate.ErrClosed) {
		return nil
	}
	return fmt.Errorf("stef: files in %s: %w", x.dir, err)
}

// Stats returns what was written so far.
func (x *Exporter[B]) Stats() settings.FileStats {
	c := &x.stats
	return settings.FileStats{Written: c.Delivered.Load(), Omitted: c.Omitted.Load(), Failed: c.Failed.Load(), Files: x.writer.Stats()}
}
