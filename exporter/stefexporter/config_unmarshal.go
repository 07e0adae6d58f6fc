// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"errors"

	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

// Unmarshal reads the configuration. Keys that do not exist are reported with
// the ones that may have been meant.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	if errs := unknownKeys(conf.ToStringMap()); len(errs) > 0 {
		return errors.Join(errs...)
	}
	if err := conf.Unmarshal(c); err != nil {
		return err
	}
	if !c.QueueConfig.HasValue() {
		return nil
	}
	queue := c.QueueConfig.Get()
	if !conf.IsSet("sending_queue::num_consumers") {
		queue.NumConsumers = consumersPerStream * max(1, c.Stef.NumStreams)
	}
	// Everywhere else in the Collector a size without a sizer counts requests,
	// and a size that was meant so may be too small for one batch of items.
	if conf.IsSet("sending_queue::queue_size") && !conf.IsSet("sending_queue::sizer") {
		queue.Sizer = exporterhelper.RequestSizerTypeRequests
	}
	return nil
}
