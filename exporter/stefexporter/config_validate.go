// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configcompression"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	grpcbalancer "google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"

	"github.com/otelstef/stef/internal/confkeys"
	"github.com/otelstef/stef/internal/grpcheader"
	stef "github.com/otelstef/stef/stef-go"
)

const (
	compressionNone = configcompression.Type("none")
	compressionZstd = configcompression.TypeZstd
)

// These are the limits of plausible values. A value outside of these limits probably has
// the wrong unit.
const (
	maxStreams     = 256
	maxConnections = 64
	minFrameKiB    = 1
	maxFrameKiB    = stef.MaxFrameBytes>>10 - 1024
	minMessageKiB  = 16
	maxMessageKiB  = 64 << 10
	maxMiB         = 64 << 10
	maxFlush       = 10 * time.Second
	minLifetime    = time.Second
	minProbe       = time.Second
)

// Validate reports what to change in a configuration that cannot work.
func (c *Config) Validate() error {
	return errors.Join(
		c.validateEndpoint(),
		c.validateClient(),
		c.validatePlain(),
		c.validateRouting(),
		c.validateTimeout(),
		confkeys.Retries(c.RetryConfig.InitialInterval, c.RetryConfig.MaxInterval, c.RetryConfig.MaxElapsedTime),
		c.validateProtocol(),
		c.validateCompression(),
		c.validateHeaders(),
		c.validateMetadata(),
		c.validateQueue(),
		c.validateRetries(),
	)
}

// validateRetries rejects options for retries if retry_on_failure is off: refused batches would
// be dropped. Without a queue the options are valid: the sender gets the error, and may send the
// batch again.
func (c *Config) validateRetries() error {
	if c.RetryConfig.Enabled || !c.QueueConfig.HasValue() {
		return nil
	}
	check := func(key string, set bool) error {
		if !set {
			return nil
		}
		return fmt.Errorf("stef::%s has no effect while retry_on_failure::enabled is false, so refused batches would be dropped: set enabled to true, or remove %s", key, key)
	}
	return errors.Join(check("retry_refused_credentials", c.Stef.RetryRefusedCredentials), check("retry_resource_exhausted", c.Stef.RetryResourceExhausted))
}

func (c *Config) validateEndpoint() error {
	if len(c.Endpoints) > 0 {
		return nil
	}
	if strings.TrimSpace(c.ClientConfig.Endpoint) == "" {
		return errors.New(`endpoint is missing: set it to host:port of a STEF or OTLP/gRPC receiver, such as "backend:4320"`)
	}
	return errors.Join(validateScheme("endpoint", c.ClientConfig.Endpoint), validatePort("endpoint", c.ClientConfig.Endpoint))
}

// validateTLS rejects incomplete TLS settings, such as a certificate without its key.
func (c *Config) validateTLS() error {
	tls := c.ClientConfig.TLS
	return confkeys.KeyPair{
		CAFile: tls.CAFile, CAPem: string(tls.CAPem), CertFile: tls.CertFile, CertPem: string(tls.CertPem), KeyFile: tls.KeyFile, KeyPem: string(tls.KeyPem),
	}.Validate()
}

// validateSizes rejects a queue that is too small for a batch, and batch sizes that count requests.
// The Collector's own checks also reject both, but do not name the values and keys.
func validateSizes(queue *exporterhelper.QueueBatchConfig) error {
	if queue.Batch.HasValue() && queue.Batch.Get().Sizer == exporterhelper.RequestSizerTypeRequests {
		return errors.New(`sending_queue::batch::sizer is "requests": set it to items or bytes; without it, the sizer of sending_queue applies`)
	}
	if !queue.Batch.HasValue() || queue.Batch.Get().Sizer != queue.Sizer || queue.Batch.Get().MinSize <= queue.QueueSize || queue.QueueSize <= 0 {
		return nil
	}
	return fmt.Errorf("sending_queue::batch::min_size is %d and sending_queue::queue_size is %d, both in %s: the queue cannot hold a batch; lower min_size or raise queue_size",
		queue.Batch.Get().MinSize, queue.QueueSize, queue.Sizer.String())
}

// validateClient rejects settings that the Collector's own checks also reject. The errors
// of those checks name a Go struct instead of a configuration key, and do not say what to
// write.
func (c *Config) validateClient() error {
	var balancerErr, authErr error
	if auth := c.ClientConfig.Auth.Get(); auth != nil {
		authErr = confkeys.Authenticator(auth.AuthenticatorID.String())
	}
	if name := c.ClientConfig.BalancerName; name != "" && grpcbalancer.Get(name) == nil {
		balancerErr = fmt.Errorf("balancer_name is %q: set it to round_robin or pick_first", name)
	}
	if len(c.Endpoints) > 0 || strings.TrimSpace(c.ClientConfig.Endpoint) == "" {
		return errors.Join(balancerErr, authErr)
	}
	return errors.Join(validateHostPort(c.ClientConfig.Endpoint), balancerErr, authErr)
}

// validatePlain rejects http:// if TLS is on. The Collector would remove the scheme and use
// TLS, and the error for a peer without TLS would not mention the scheme.
func (c *Config) validatePlain() error {
	if c.withoutTLS() {
		return nil
	}
	check := func(key, endpoint string) error {
		address, plain := strings.CutPrefix(endpoint, "http://")
		if !plain || (&configgrpc.ClientConfig{Endpoint: address}).Validate() != nil { // other checks report an invalid address
			return nil
		}
		why, fix := "", "set tls::insecure to true"
		if c.ClientConfig.TLS.Insecure {
			why, fix = ", because a CA is set beside tls::insecure", "remove tls::ca_file and tls::ca_pem"
		}
		return fmt.Errorf("%s has the scheme http://, but TLS is on%s: write %s, and %s if the peer has no TLS", key, why, address, fix)
	}
	errs := []error{check("endpoint", c.ClientConfig.Endpoint), check("otlp_fallback::endpoint", c.Fallback.Endpoint)}
	for _, endpoint := range c.Endpoints {
		errs = append(errs, check("endpoints", endpoint))
	}
	return errors.Join(errs...)
}

// withoutTLS reports whether connections have no TLS. A CA turns TLS on.
func (c *Config) withoutTLS() bool {
	tls := &c.ClientConfig.TLS
	return tls.Insecure && tls.CAFile == "" && tls.CAPem == ""
}

func validateHostPort(endpoint string) error {
	if several(endpoint) {
		return fmt.Errorf("endpoint is %q, which names several addresses: use one name that resolves to all of them, such as dns:///backend:4320, or list them in the key endpoints and set routing_key", endpoint)
	}
	if validateScheme("endpoint", endpoint) != nil || (&configgrpc.ClientConfig{Endpoint: endpoint}).Validate() == nil {
		return nil
	}
	if rest, ok := strings.CutPrefix(endpoint, "dns:"); ok && !strings.HasPrefix(rest, "//") && rest != "" {
		if _, _, err := net.SplitHostPort(rest); err == nil { // the Collector requires slashes after dns:
			return fmt.Errorf("endpoint is %q: write dns:///%s, with three slashes", endpoint, rest)
		}
	}
	if port, err := strconv.ParseUint(endpoint, 10, 16); err == nil && port > 0 {
		return fmt.Errorf("endpoint is %q: write host:port, such as %q", endpoint, net.JoinHostPort("localhost", endpoint))
	}
	scheme, rest, ok := strings.Cut(endpoint, "://")
	if !ok {
		scheme, rest = "", endpoint
	} else if scheme == "unix" {
		return fmt.Errorf("endpoint is %q: write the path of the socket, such as unix:///run/stef.sock", endpoint)
	} else {
		scheme += "://"
	}
	if strings.HasPrefix(rest, "/") { // dns:///host
		scheme, rest = scheme+"/", rest[1:]
	}
	address, _, path := strings.Cut(rest, "/")
	host, _, _ := strings.Cut(address, ":")
	form := "host:port"
	if path {
		form = "host:port without a path"
	}
	if example := confkeys.IPv6Example(address, "4320"); example != "" {
		return fmt.Errorf("endpoint is %q: write host:port, with an IPv6 address in brackets, such as %q", endpoint, scheme+example)
	}
	return fmt.Errorf("endpoint is %q: write %s, such as %q", endpoint, form, scheme+net.JoinHostPort(host, "4320"))
}

// several reports whether an endpoint is a list of addresses.
func several(endpoint string) bool {
	return strings.Contains(endpoint, ",") && !strings.HasPrefix(endpoint, "unix:")
}

func (c *Config) validateRouting() error {
	switch {
	case c.RoutingKey == "" && len(c.Endpoints) > 0:
		return errors.New("endpoints is set without routing_key: set routing_key to traceID or service; for plain load balancing set endpoint to a name with several addresses")
	case c.RoutingKey == "":
		return nil
	case c.RoutingKey != RoutingTraceID && c.RoutingKey != RoutingService:
		return fmt.Errorf("routing_key is %q: set it to traceID or service", string(c.RoutingKey))
	case len(c.Endpoints) > 0 && c.ClientConfig.Endpoint != "":
		return errors.New("endpoint and endpoints are both set: remove one of them")
	case c.Fallback.Endpoint != "":
		return errors.New("otlp_fallback::endpoint is set with routing_key: each backend receives OTLP at its own address; remove otlp_fallback::endpoint")
	case c.ResolveInterval < 100*time.Millisecond:
		return fmt.Errorf("resolve_interval is %s: set it to at least 100ms, the default is 5s", c.ResolveInterval)
	}
	if len(c.Endpoints) == 0 {
		name := strings.TrimPrefix(c.ClientConfig.Endpoint, "dns:///")
		if _, _, err := net.SplitHostPort(name); err != nil || strings.Contains(name, "/") {
			return fmt.Errorf("endpoint is %q: with routing_key, set it to host:port, because the backends are the addresses of host", c.ClientConfig.Endpoint)
		}
	}
	var errs []error
	for i, endpoint := range c.Endpoints {
		if strings.TrimSpace(endpoint) == "" || slices.Contains(c.Endpoints[:i], endpoint) {
			errs = append(errs, fmt.Errorf("endpoints has %q, which is empty or repeated: name each backend once", endpoint))
		}
		errs = append(errs, validateBackend(endpoint))
	}
	return errors.Join(errs...)
}

// validateBackend rejects addresses that cannot be dialed. It also rejects addresses without a
// port, because gRPC would use port 443.
func validateBackend(endpoint string) error {
	if err := validateScheme("endpoints", endpoint); err != nil || strings.TrimSpace(endpoint) == "" {
		return err
	}
	if several(endpoint) {
		return fmt.Errorf("endpoints has %q: write each address as an element of its own", endpoint)
	}
	if (&configgrpc.ClientConfig{Endpoint: endpoint}).Validate() != nil {
		return fmt.Errorf("endpoints has %q without a port: write host:port, such as %s:4320", endpoint, endpoint)
	}
	return validatePort("endpoints", endpoint)
}

// validateScheme rejects schemes that neither gRPC nor the Collector knows.
func validateScheme(key, endpoint string) error {
	scheme, rest, ok := strings.Cut(endpoint, "://")
	if ok && strings.EqualFold(scheme, "dns") {
		// In dns://a/b, a is a DNS server and b is the host.
		if _, host, _ := strings.Cut(rest, "/"); host == "" {
			return fmt.Errorf("%s is %q: write dns:///%s, with three slashes", key, endpoint, strings.Trim(rest, "/"))
		}
	}
	if !ok || scheme == "http" || scheme == "https" || resolver.Get(strings.ToLower(scheme)) != nil {
		return nil
	}
	address := "host:port"
	if host, port, err := net.SplitHostPort(strings.Trim(rest, "/")); err == nil {
		address = net.JoinHostPort(host, port)
	}
	return fmt.Errorf("%s has the scheme %s://, which gRPC does not know: write %s", key, scheme, address)
}

// validatePort rejects port numbers outside of 1 to 65535, in any form of an
// endpoint.
func validatePort(key, endpoint string) error {
	text := endpoint[strings.LastIndexByte(endpoint, ':')+1:]
	if port, err := strconv.ParseUint(strings.TrimRight(text, "/"), 10, 64); err == nil && (port == 0 || port > 65535) {
		return fmt.Errorf("%s is %q: set the port to a number from 1 to 65535, such as 4320", key, endpoint)
	}
	return nil
}

func (c *Config) validateTimeout() error {
	if c.TimeoutConfig.Timeout == 0 {
		return errors.New("timeout is 0, so a batch could wait for its acknowledgement forever: set a duration above 0, such as 15s")
	}
	if c.TimeoutConfig.Timeout < 0 {
		return fmt.Errorf("timeout is %s: set a duration above 0, such as 15s", c.TimeoutConfig.Timeout)
	}
	if err := confkeys.WithUnit("timeout", c.TimeoutConfig.Timeout); err != nil {
		return err
	}
	if flush := c.Stef.FlushInterval; flush >= c.TimeoutConfig.Timeout && flush <= maxFlush && c.Protocol != ProtocolOTLP {
		return fmt.Errorf("stef::flush_interval is %v and timeout is %v, so an attempt to send a batch could time out before its frame is sent: "+
			"set flush_interval to at most half of timeout, or raise timeout", flush, c.TimeoutConfig.Timeout)
	}
	return nil
}

func (c *Config) validateProtocol() error {
	if err := confkeys.OneOf("protocol", c.Protocol, ProtocolAuto, ProtocolSTEF, ProtocolOTLP); err != nil {
		return err
	}
	if c.Protocol == ProtocolSTEF && c.Fallback.Endpoint != "" {
		return errors.New("otlp_fallback::endpoint has no effect with protocol stef: remove it, or set protocol to auto")
	}
	return nil
}

// validateCompression rejects double compression, and conflicts between the two keys for the
// compression of streams.
func (c *Config) validateCompression() error {
	top, inner := c.ClientConfig.Compression, c.Stef.Compression
	switch {
	case top == "":
		return nil
	case top != compressionNone && top != compressionZstd:
		return fmt.Errorf("compression is %q, but streams are compressed inside of STEF, and gRPC messages are not compressed again: "+
			"set compression to zstd or none; for OTLP requests set otlp_fallback::compression to %s", top, top)
	case inner != top:
		return fmt.Errorf("compression is set at both levels, to %q at the top level and to %q in stef: "+
			"both mean the compression inside of STEF; remove one", top, inner)
	case c.Protocol == ProtocolOTLP:
		return fmt.Errorf("compression is %q at the top level, but it applies to STEF streams only, and protocol is otlp: "+
			"remove it, and set otlp_fallback::compression", top)
	}
	return nil
}

// validateHeaders rejects headers that gRPC reserves, and values that it cannot send. If a header
// has the name connection, peers refuse every stream and request. checkHeaderNames checks the
// characters of names.
func (c *Config) validateHeaders() error {
	var errs []error
	for name, value := range c.ClientConfig.Headers.Iter {
		if strings.EqualFold(name, "user-agent") {
			errs = append(errs, fmt.Errorf("headers: gRPC sets the header %q: remove it, and set user_agent", name))
		} else if err := grpcheader.Check(name, string(value)); err != nil && grpcheader.ValidName(name) {
			errs = append(errs, fmt.Errorf("headers: %w", err))
		}
	}
	return errors.Join(errs...)
}

// checkHeaderNames rejects names that gRPC cannot send: every stream and request would fail. The
// factory calls checkHeaderNames. Validate does not, because this exporter must be able to load a
// sample configuration that has such a header: the sample of the stef exporter in the Collector's
// contrib repository.
func (c *Config) checkHeaderNames() error {
	var errs []error
	for name, value := range c.ClientConfig.Headers.Iter {
		if !grpcheader.ValidName(name) {
			errs = append(errs, fmt.Errorf("headers: %w", grpcheader.Check(name, string(value))))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) validateMetadata() error {
	seen := map[string]bool{}
	for _, key := range c.MetadataKeys {
		lower := strings.ToLower(key)
		switch {
		case lower == "":
			return errors.New("metadata_keys has an empty key: remove it")
		case seen[lower]:
			return fmt.Errorf("metadata_keys has %q twice (letter case does not matter): remove one", lower)
		case grpcheader.Reserved(lower):
			return fmt.Errorf("metadata_keys has %q, which gRPC reserves: remove it", lower)
		}
		seen[lower] = true
	}
	if len(c.MetadataKeys) > 0 && c.MetadataCardinalityLimit == 0 {
		return errors.New("metadata_cardinality_limit is 0, so nothing could be sent: set it to the number of combinations to allow, such as 1000")
	}
	return nil
}

// validateQueue checks that the queue does not mix data of different values of the
// metadata keys. The queue's own validation does not know these keys.
func (c *Config) validateQueue() error {
	if len(c.MetadataKeys) == 0 || !c.QueueConfig.HasValue() || !c.QueueConfig.Get().Batch.HasValue() {
		return nil
	}
	// A batch that mixes several identities would lose the metadata.
	partition := c.QueueConfig.Get().Batch.Get().Partition.MetadataKeys
	for _, key := range c.MetadataKeys {
		if !slices.ContainsFunc(partition, func(p string) bool { return strings.EqualFold(p, key) }) {
			return fmt.Errorf("sending_queue::batch would mix data with different values of %q, but metadata_keys requires a stream for each value: "+
				"add %q to sending_queue::batch::partition::metadata_keys", key, key)
		}
	}
	return nil
}

// Validate reports what to change in the configuration of streams.
func (c *StefConfig) Validate() error {
	return errors.Join(
		confkeys.Between("num_streams", c.NumStreams, 1, maxStreams, ""),
		confkeys.Between("connections", c.Connections, 1, maxConnections, ""),
		c.validateConnections(),
		c.validateChecksums(),
		confkeys.OneOf("compression_level", c.CompressionLevel, levelAuto,
			stef.LevelFastest.String(), stef.LevelDefault.String(), stef.LevelBetter.String(), stef.LevelBest.String()),
		confkeys.OneOf("compression", c.Compression, "", compressionZstd, compressionNone),
		confkeys.OneOf("optimize_for", c.OptimizeFor, "", OptimizeCPU, OptimizeBalanced, OptimizeBytes),
		confkeys.OneOf("templates", c.Templates, "", TemplatesAuto, TemplatesOn, TemplatesOff),
		confkeys.ZeroOr("max_stream_lifetime", c.MaxStreamLifetime, minLifetime, "for no limit", ""),
		confkeys.ZeroOr("idle_timeout", c.IdleTimeout, minLifetime, "for no limit", ""),
		confkeys.Duration("flush_interval", c.FlushInterval, 0, maxFlush, ""),
		confkeys.Between("max_frame_size_kib", c.MaxFrameSizeKiB, minFrameKiB, maxFrameKiB, ""),
		confkeys.Between("max_message_size_kib", c.MaxMessageSizeKiB, minMessageKiB, maxMessageKiB, ""),
		confkeys.Between("max_unacked_batches", c.MaxUnackedBatches, 1, 1<<20, ""),
		confkeys.Between("max_unacked_mib", c.MaxUnackedMiB, 1, maxMiB, ""),
		confkeys.Between("max_dict_mib", c.MaxDictMiB, 1, maxMiB, ""),
		confkeys.Duration("shutdown_drain_timeout", c.ShutdownDrainTimeout, time.Millisecond, time.Hour, ""),
	)
}

func (c *StefConfig) validateChecksums() error {
	if c.Checksums && c.Compression == compressionNone {
		return errors.New("checksums is true, but streams without compression have no place for checksums: " +
			"set compression to zstd, or remove checksums")
	}
	return nil
}

func (c *StefConfig) validateConnections() error {
	if c.Connections > c.NumStreams && c.NumStreams >= 1 {
		return fmt.Errorf("connections is %d, but %d stream(s) cannot use more than %d: raise num_streams or lower connections",
			c.Connections, c.NumStreams, c.NumStreams)
	}
	return nil
}

// Validate reports what to change in the configuration of OTLP requests.
func (c *OTLPConfig) Validate() error {
	var endpointErr error
	if several(c.Endpoint) {
		endpointErr = fmt.Errorf("endpoint is %q, which names several addresses: use one name that resolves to all of them, such as dns:///backend:4317", c.Endpoint)
	} else if (&configgrpc.ClientConfig{Endpoint: c.Endpoint}).Validate() != nil {
		endpointErr = fmt.Errorf("endpoint is %q: set it to host:port, such as backend:4317, or remove it to use the endpoint of the streams", c.Endpoint)
	}
	return errors.Join(
		confkeys.OneOf("compression", c.Compression, "",
			configcompression.TypeGzip, configcompression.TypeSnappy, configcompression.TypeZstd, compressionNone),
		endpointErr,
		validateScheme("endpoint", c.Endpoint),
		validatePort("endpoint", c.Endpoint),
		confkeys.Between("max_concurrent_requests", c.MaxConcurrentRequests, 1, 1<<16, ""),
		confkeys.Between("max_request_size_mib", c.MaxRequestSizeMiB, 1, 1<<10, ""),
		confkeys.Duration("probe_interval", c.ProbeInterval, minProbe, 24*time.Hour, ""),
	)
}

// checkStorage returns an error if the storage extension of the queue is not running, or is another kind of
// extension. The queue's own errors name neither the configuration key nor the extension.
func (c *Config) checkStorage(host component.Host) error {
	if !c.QueueConfig.HasValue() || c.QueueConfig.Get().StorageID == nil {
		return nil
	}
	id := *c.QueueConfig.Get().StorageID
	if extension, ok := host.GetExtensions()[id]; ok {
		if _, ok := extension.(storage.Extension); !ok {
			return fmt.Errorf("sending_queue::storage is %q, which is not a storage extension: use a storage extension such as file_storage", id)
		}
		return nil
	}
	return fmt.Errorf("sending_queue::storage is %q: define this extension under extensions, and list it in service::extensions", id)
}
