// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package settings contains the configuration of the exporters. Options and environment variables
// set it.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	stef "github.com/otelstef/stef/stef-go"
)

// Signal is the name of a signal. Environment variables contain it in upper case.
type Signal string

// The signals.
const (
	Traces  Signal = "traces"
	Metrics Signal = "metrics"
	Logs    Signal = "logs"
)

// Option configures an exporter to an endpoint.
type Option interface {
	ApplyEndpoint(*Endpoint) error
}

// FileOption configures an exporter to files.
type FileOption interface {
	ApplyFile(*File) error
}

// Stream is the configuration of STEF streams, for endpoints and files.
type Stream struct {
	Compression stef.Compression
	// Adapt lets an exporter to files omit the compression of files with small frames.
	// It is false if the compression was chosen explicitly.
	Adapt       bool
	Level       stef.Level
	WindowBytes int
	// Extra contains options that only one signal has. The package of this signal defines the keys.
	Extra map[any]any
}

// Writer returns the options of a writer.
func (s *Stream) Writer() []stef.WriterOption {
	return []stef.WriterOption{
		stef.WithCompression(s.Compression),
		stef.WithCompressionLevel(s.Level),
		stef.WithWindowBytes(s.WindowBytes),
	}
}

// Choose sets the compression explicitly, so that Adapt does not change it.
func (s *Stream) Choose(c stef.Compression) { s.Compression, s.Adapt = c, false }

// Put stores an option of a single signal in Extra.
func (s *Stream) Put(key, value any) {
	if s.Extra == nil {
		s.Extra = map[any]any{}
	}
	s.Extra[key] = value
}

// checkExtra returns an error if options of metrics are used for another signal. The other
// signals have no options of their own.
func (s *Stream) checkExtra(signal Signal) error {
	if len(s.Extra) > 0 && signal != Metrics {
		return fmt.Errorf("stef: an option of metrics is used for %s: remove the options of package stefmetric", signal)
	}
	return nil
}

// Retry says when a batch is sent again. In the result of ForEndpoint, a MaxElapsedTime of 0 means
// no limit, as in the OTLP exporters.
type Retry struct {
	Enabled         bool
	InitialInterval time.Duration
	MaxInterval     time.Duration
	MaxElapsedTime  time.Duration
}

// Endpoint is the configuration of an exporter to an endpoint.
type Endpoint struct {
	Stream

	Target      string
	Insecure    bool
	Plain       bool                             // value of Insecure for targets without http or https
	Credentials credentials.TransportCredentials // nil: from the environment
	Conn        *grpc.ClientConn                 // connection of the caller, or nil
	DialOptions []grpc.DialOption

	Headers        map[string]string
	Timeout        time.Duration
	Retry          Retry
	StreamLifetime time.Duration

	OTLP           bool // send OTLP to peers without STEF
	OTLPCompressor string
}

// SetTarget sets a target without http or https. It resets Insecure to Plain, because the scheme of
// an earlier target does not apply to the new target.
func (c *Endpoint) SetTarget(target string) { c.Target, c.Insecure = target, c.Plain }

// These are the defaults of an endpoint. Settings that the OTLP exporters also have use the same
// defaults. The exceptions are the target and the intervals of retries. The intervals are shorter,
// because they also apply to attempts to connect: after a peer was down, the exporter should not
// wait half a minute to connect again.
const (
	DefaultTarget         = "localhost:4320"
	DefaultTimeout        = 10 * time.Second
	DefaultRetryInitial   = 500 * time.Millisecond
	DefaultRetryMax       = 5 * time.Second
	DefaultRetryElapsed   = time.Minute
	DefaultStreamLifetime = 5 * time.Minute
	DefaultWindowBytes    = 256 << 10
)

// ForEndpoint returns the configuration from the environment and the options.
func ForEndpoint(signal Signal, options []Option) (*Endpoint, error) {
	c := &Endpoint{
		Stream: Stream{Compression: stef.Zstd, Adapt: true, Level: stef.LevelFastest, WindowBytes: DefaultWindowBytes},
		Target: DefaultTarget, Timeout: DefaultTimeout, StreamLifetime: DefaultStreamLifetime,
		Retry: Retry{Enabled: true, InitialInterval: DefaultRetryInitial, MaxInterval: DefaultRetryMax, MaxElapsedTime: DefaultRetryElapsed},
		OTLP:  true,
	}
	env := env{signal: signal}
	env.endpoint(c)
	for _, option := range options {
		if option == nil {
			return nil, errors.New("stef: an option is nil")
		}
		if err := option.ApplyEndpoint(c); err != nil {
			return nil, fmt.Errorf("stef: %w", err)
		}
	}
	if err := c.checkExtra(signal); err != nil {
		return nil, err
	}
	env.checkTarget(c)
	if c.Conn == nil && !c.Insecure && c.Credentials == nil {
		var err error
		if c.Credentials, err = env.credentials(); err != nil {
			return nil, fmt.Errorf("stef: %w", err)
		}
	}
	c.Retry.MaxInterval = cmp.Or(c.Retry.MaxInterval, DefaultRetryMax)
	c.Retry.InitialInterval = cmp.Or(c.Retry.InitialInterval, min(DefaultRetryInitial, c.Retry.MaxInterval))
	c.Retry.MaxElapsedTime = max(0, cmp.Or(c.Retry.MaxElapsedTime, DefaultRetryElapsed))
	env.report()
	return c, nil
}
