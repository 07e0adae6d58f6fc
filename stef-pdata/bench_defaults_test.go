// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import stef "github.com/otelstef/stef/stef-go"

func init() {
	revisionOptions["traces"] = tracesForms.defaults
	revisionOptions["metrics"] = metricsForms.defaults
	revisionOptions["logs"] = logsForms.defaults
}

// defaults returns the compact form and the level of zstd that the exporter selects for it.
func (f *formsOf[T]) defaults() []stef.WriterOption {
	return []stef.WriterOption{f.compact(), stef.WithCompressionLevel(f.level)}
}
