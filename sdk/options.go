// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"

	"github.com/otelstef/stef/sdk/internal/settings"
	stef "github.com/otelstef/stef/stef-go"
)

// Option configures an exporter to an endpoint. The functions of this package whose
// names begin with With return options.
type Option = settings.Option

// CommonOption is both an Option and a FileOption.
type CommonOption interface {
	Option
	FileOption
}

type endpointOption func(*settings.Endpoint) error

func (o endpointOption) ApplyEndpoint(c *settings.Endpoint) error { return o(c) }

type streamOption func(*settings.Stream) error

func (o streamOption) ApplyEndpoint(c *settings.Endpoint) error { return o(&c.Stream) }
func (o streamOption) ApplyFile(c *settings.File) error         { return o(&c.Stream) }

// WithEndpoint sets the address of the peer as host:port, or as a target of gRPC
// such as dns:///collector:4320. The default is localhost:4320. A target without a port
// has port 443. Use WithEndpointURL for a URL.
func WithEndpoint(target string) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		if target == "" {
			return errors.New("WithEndpoint: the address is empty")
		}
		if scheme, _, ok := strings.Cut(target, "://"); ok && isHTTP(scheme) {
			return fmt.Errorf("WithEndpoint: %q has a scheme: use WithEndpointURL", target)
		}
		c.SetTarget(target)
		return nil
	})
}

// WithEndpointURL sets the address of the peer as a URL. The scheme http means no
// transport security, https means transport security. A URL without a port has port 443,
// even with http. A text without one of these schemes is a target of gRPC, with transport security
// unless WithInsecure is set.
func WithEndpointURL(url string) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		if scheme, _, ok := strings.Cut(url, "://"); ok && !isHTTP(scheme) && resolver.Get(strings.ToLower(scheme)) == nil {
			return fmt.Errorf("WithEndpointURL: the scheme of %q must be http or https", url)
		}
		if err := settings.SetURL(c, url); err != nil {
			return fmt.Errorf("WithEndpointURL: %w", err)
		}
		return nil
	})
}

func isHTTP(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// WithInsecure switches transport security off. The default is TLS with the certificate authorities
// of the system.
func WithInsecure() Option {
	return endpointOption(func(c *settings.Endpoint) error {
		c.Insecure, c.Plain, c.Credentials = true, true, nil
		return nil
	})
}

// WithTLSCredentials sets the transport security of the connection.
func WithTLSCredentials(creds credentials.TransportCredentials) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		if creds == nil {
			return errors.New("WithTLSCredentials: the credentials are nil")
		}
		c.Insecure, c.Plain, c.Credentials = false, false, creds
		return nil
	})
}

// WithHeaders sets the headers that are sent when a stream is opened and with each
// OTLP request. A stream keeps its headers for its life, see WithStreamLifetime. Headers that gRPC
// reserves, such as user-agent and connection, are an error.
func WithHeaders(headers map[string]string) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		for _, key := range slices.Sorted(maps.Keys(headers)) {
			if err := settings.CheckHeader(key, headers[key]); err != nil {
				return fmt.Errorf("WithHeaders: %w", err)
			}
		}
		c.Headers = maps.Clone(headers)
		return nil
	})
}

// WithTimeout bounds an export, with all its retries. The default is 10 seconds.
func WithTimeout(d time.Duration) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		if d <= 0 {
			return fmt.Errorf("WithTimeout: %v is not above 0", d)
		}
		c.Timeout = d
		return nil
	})
}

// RetryConfig configures when a batch is sent again. A duration of 0 means the default.
type RetryConfig struct {
	// Enabled makes the exporter send failed batches again. If it is false, an export
	// still waits for a connection until its timeout.
	Enabled bool
	// InitialInterval is the wait before the first attempt to open another stream. The
	// wait grows by half with each further failure. Default 500 ms, or MaxInterval if it is shorter.
	InitialInterval time.Duration
	// MaxInterval is the longest wait between two attempts to open a stream, and between two
	// attempts to connect. So a peer that was down receives data again after about twice this
	// time. A peer can ask for a longer wait. Default 5 s.
	MaxInterval time.Duration
	// MaxElapsedTime is how long an export retries. It has an effect only if it is shorter than the
	// timeout. Default 1 minute; negative: until the timeout.
	MaxElapsedTime time.Duration
}

// WithRetry sets when a batch is sent again. Without this option, retries are on. The option
// replaces all settings, so without Enabled it turns retries off.
func WithRetry(r RetryConfig) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		if r.InitialInterval < 0 || r.MaxInterval < 0 {
			return errors.New("WithRetry: an interval is below 0")
		}
		c.Retry = settings.Retry(r)
		return nil
	})
}

// WithGRPCConn sets the connection to use. The caller closes it. With this option, options about
// the address, transport security, dialing and the compression of OTLP requests have no effect. To
// compress OTLP requests, create the connection with
// grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip")).
func WithGRPCConn(conn *grpc.ClientConn) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		if conn == nil {
			return errors.New("WithGRPCConn: the connection is nil")
		}
		c.Conn = conn
		return nil
	})
}

// WithDialOption adds options for the connection.
func WithDialOption(options ...grpc.DialOption) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		c.DialOptions = append(c.DialOptions, options...)
		return nil
	})
}

// WithOTLPFallback sets whether the exporter sends OTLP over the same connection to
// peers that have no STEF. It is on by default. The exporter tries STEF with such a
// peer again every minute.
func WithOTLPFallback(on bool) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		c.OTLP = on
		return nil
	})
}

// WithOTLPCompressor sets the compression of OTLP requests: "gzip" or "none", the
// default. It has no effect with WithGRPCConn.
func WithOTLPCompressor(name string) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		switch name {
		case "gzip":
			c.OTLPCompressor = name
		case "none":
			c.OTLPCompressor = ""
		default:
			return fmt.Errorf("WithOTLPCompressor: %q is neither gzip nor none", name)
		}
		return nil
	})
}

// WithStreamLifetime sets the age at which a stream is replaced, so that load moves
// between peers and renewed credentials are used. A new stream begins with empty
// dictionaries. The default is 5 minutes.
func WithStreamLifetime(d time.Duration) Option {
	return endpointOption(func(c *settings.Endpoint) error {
		if d <= 0 {
			return fmt.Errorf("WithStreamLifetime: %v is not above 0", d)
		}
		c.StreamLifetime = d
		return nil
	})
}

// WithCompression sets the compression of streams and files. The default is stef.Zstd.
// Without this option, files are not compressed while exports have few items, as with a
// simple processor: compressing such small frames would take longer than all other work.
func WithCompression(compression stef.Compression) CommonOption {
	return streamOption(func(s *settings.Stream) error {
		if compression != stef.None && compression != stef.Zstd {
			return fmt.Errorf("WithCompression: %v is unknown", compression)
		}
		s.Choose(compression)
		return nil
	})
}

// WithCompressionLevel sets the effort of compression. The default is
// stef.LevelFastest.
func WithCompressionLevel(level stef.Level) CommonOption {
	return streamOption(func(s *settings.Stream) error {
		if _, err := stef.ParseLevel(level.String()); err != nil {
			return fmt.Errorf("WithCompressionLevel: %w", err)
		}
		s.Level = level
		return nil
	})
}
