// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import stef "github.com/otelstef/stef/stef-go"

func init() {
	revisionOptions["traces"] = tracesForms.defaults
	revisionOptions["metrics"] = metricsForms.defaults
	revisionOptions["logs"] = logsForms.defaults
}

// defaults returns the writer options that the exporter sets by default: the compact form, and the
// level of zstd for this form.
func (f *formsOf[T]) defaults() []stef.WriterOption {
	return []stef.WriterOption{f.compact(), stef.WithCompressionLevel(f.level)}
}
