// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.opentelemetry.io/otel"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/rotate"
)

// File is the configuration of an exporter to files.
type File struct {
	Stream
	Rotate rotate.Options
	// PrefixVariable is the environment variable that sets the prefix, or "" if no variable
	// sets the prefix.
	PrefixVariable string
}

// DefaultDir is the folder of files if no folder is set.
const DefaultDir = "telemetry"

// ForFiles returns the configuration from the environment and the options. If dir is
// "", the environment names the folder.
func ForFiles(signal Signal, dir string, options []FileOption) (*File, error) {
	c := &File{
		Stream: Stream{Compression: stef.Zstd, Adapt: true, Level: stef.LevelFastest, WindowBytes: DefaultWindowBytes},
		Rotate: rotate.Options{Dir: DefaultDir, Signal: string(signal)},
	}
	env := env{signal: signal}
	env.file(c)
	prefix := c.Rotate.Prefix
	if dir != "" {
		c.Rotate.Dir = dir
	}
	for _, option := range options {
		if option == nil {
			return nil, errors.New("stef: an option is nil")
		}
		if err := option.ApplyFile(c); err != nil {
			return nil, fmt.Errorf("stef: %w", err)
		}
	}
	if err := c.checkExtra(signal); err != nil {
		return nil, err
	}
	if c.Rotate.Prefix != prefix {
		c.PrefixVariable = ""
	}
	// Errors in the background reach the application only through the error handler.
	c.Rotate.OnError = func(err error) { otel.Handle(fmt.Errorf("stef: %w", err)) }
	env.report()
	return c, nil
}

func (e *env) file(c *File) {
	e.stream(&c.Stream)
	r := &c.Rotate
	if v, _ := e.lookup("FILE_DIRECTORY", false); v != "" {
		r.Dir = v
	}
	if v, name := e.lookup("FILE_PREFIX", false); v != "" {
		r.Prefix, c.PrefixVariable = v, name
	}
	e.count("FILE_MAX_BYTES", &r.MaxBytes)
	e.count("FILE_MAX_TOTAL_BYTES", &r.MaxTotalBytes)
	files := int64(r.MaxFiles)
	e.count("FILE_MAX_FILES", &files)
	r.MaxFiles = int(min(files, math.MaxInt))
	e.milliseconds("FILE_MAX_AGE", false, &r.MaxAge)
	e.milliseconds("FILE_FLUSH_INTERVAL", false, &r.FlushInterval)
	e.milliseconds("FILE_SYNC_INTERVAL", false, &r.SyncEvery)
	if v, name := e.lookup("FILE_SYNC", false); v != "" {
		policy, ok := map[string]rotate.Sync{"interval": rotate.SyncInterval, "flush": rotate.SyncFlush, "none": rotate.SyncNone}[v]
		if !ok {
			e.ignore(name, v, "interval, flush or none")
			return
		}
		r.Sync = policy
	}
}

func (e *env) count(name string, to *int64) {
	v, variable := e.lookup(name, false)
	if v == "" {
		return
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n <= 0 {
		e.ignore(variable, v, fmt.Sprintf("a whole number above 0, at most %d", int64(math.MaxInt64)))
		return
	}
	*to = n
}
