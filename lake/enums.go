// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"strconv"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// names contains the names of the values of an enum, from 0 on. A value without a name is
// written as its number. Value 0 means unset and is written as null.
type names []string

var (
	temporalities = names{"", "delta", "cumulative"}
	spanKinds     = names{"", "internal", "server", "client", "producer", "consumer"}
	statusCodes   = names{"", "ok", "error"}
)

var metricTypes = map[pmetric.MetricType]string{
	pmetric.MetricTypeGauge:                "gauge",
	pmetric.MetricTypeSum:                  "sum",
	pmetric.MetricTypeHistogram:            "histogram",
	pmetric.MetricTypeExponentialHistogram: "exponential_histogram",
	pmetric.MetricTypeSummary:              "summary",
}

func (n names) of(v int32) string {
	if v >= 0 && int(v) < len(n) {
		return n[v]
	}
	return strconv.Itoa(int(v))
}

// parse returns the value with the name text. Errors name the column.
func (n names) parse(text, column string) (int32, error) {
	for v, name := range n {
		if name == text {
			return int32(v), nil
		}
	}
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, invalid(column, "%q is not one of %q", text, n[1:])
	}
	return int32(v), nil
}
