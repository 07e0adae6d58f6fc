// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"errors"

	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelstef/stef/internal/confkeys"
)

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

const noToken = "set auth::authenticator to an extension such as bearertokenauth, or write the header under headers"

// configKeys are the keys of this exporter. The hints are for keys of other components and for
// frequent mistakes.
var configKeys = confkeys.Keys{
	Sections: []confkeys.Section{
		confkeys.Of[Config](""),
		confkeys.Of[StefConfig]("stef"),
		confkeys.Of[ModeConfig]("stef::mode"),
		confkeys.Of[OTLPConfig]("otlp_fallback"),
	},
	Hints: map[string]string{
		"protocols":       "an exporter has one address: write endpoint, tls and the like at the top level",
		"grpc":            "write its keys, such as endpoint, at the top level",
		"traces_endpoint": "write endpoint as host:port, without a path; it is the address of all signals",
		"insecure":        "write it as tls::insecure",
		"compression":     "for OTLP requests set otlp_fallback::compression",
		"ca_file":         "write it as tls::ca_file",
		"token":           noToken,
		"bearer_token":    noToken,
		"resolver":        "set endpoint to a name with several addresses, or endpoints to the list of backends, and routing_key to traceID or service",

		"queue":                     "write it as sending_queue",
		"sending_queue::queue_size": "sending_queue::sizer sets its unit: items, bytes or requests (the default with queue_size)",
		"sending_queue::size":       "write it as sending_queue::queue_size",
		"batcher":                   "write it as sending_queue::batch",
		// These are keys of the batch processor. Its timeout is not the timeout of this exporter.
		"sending_queue::batch::timeout":             "write it as sending_queue::batch::flush_timeout",
		"sending_queue::batch::send_batch_size":     "write it as sending_queue::batch::min_size",
		"sending_queue::batch::send_batch_max_size": "write it as sending_queue::batch::max_size",

		"tls::client_ca_file":    "an exporter verifies its peer: write it as tls::ca_file",
		"tls::enabled":           "TLS is on by default; to send without TLS, write tls::insecure: true",
		"otlp_fallback::enabled": "it is on with protocol: auto; to send only STEF, write protocol: stef",

		"stef::mode::spans":       `did you mean "stef::mode::traces"?`,
		"stef::mode::points":      `did you mean "stef::mode::metrics"?`,
		"stef::mode::log_records": `did you mean "stef::mode::logs"?`,
	},
	Choices: map[string]string{
		"protocol":                   "auto, stef or otlp",
		"compression":                "zstd or none",
		"stef::compression":          "zstd or none",
		"stef::compression_level":    "auto, fastest, default, better or best",
		"stef::optimize_for":         "cpu, balanced or bytes",
		"stef::templates":            "auto, on or off",
		"stef::schema":               "compact, full or reference",
		"otlp_fallback::compression": "gzip, snappy, zstd or none",

		"sending_queue::sizer":        "items, requests or bytes",
		"sending_queue::batch::sizer": "items or bytes",
	},
}

// Unmarshal reads the configuration. It reports keys that do not exist, and
// suggests the keys that may have been meant.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	if o, ok := conf.Get("stef::optimize_for").(string); ok {
		Optimization(o).Apply(&c.Stef) // keys that are set have precedence
	}
	if err := configKeys.Read(conf.ToStringMap(), func() error { return conf.Unmarshal(c) }); err != nil {
		return err
	}
	// Validate makes these checks, too. But when Validate fails, the Collector also
	// prints the errors of its own checks of the same settings.
	if err := errors.Join(c.validateClient(), c.validateTLS(), c.validateTimeout()); err != nil {
		return err
	}
	// Set the key in stef, too, so that the printed configuration shows the effective value.
	if top := c.ClientConfig.Compression; !conf.IsSet("stef::compression") && (top == compressionNone || top == compressionZstd) {
		c.Stef.Compression = top
	}
	if !c.QueueConfig.HasValue() {
		return nil
	}
	queue := c.QueueConfig.Get()
	if !conf.IsSet("sending_queue::num_consumers") {
		queue.NumConsumers = consumersPerStream * max(1, c.Stef.NumStreams)
	}
	// Elsewhere in the Collector, a queue_size without a sizer counts requests. Do the same:
	// if such a size counted items, it could be too small for one batch.
	if conf.IsSet("sending_queue::queue_size") && !conf.IsSet("sending_queue::sizer") {
		queue.Sizer, c.sizerUnset = exporterhelper.RequestSizerTypeRequests, true
	}
	return validateSizes(queue)
}
