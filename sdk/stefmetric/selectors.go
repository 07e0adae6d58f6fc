// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefmetric

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/settings"
)

// selectors choose how the SDK aggregates for an exporter.
type selectors struct {
	temporality sdkmetric.TemporalitySelector
	aggregation sdkmetric.AggregationSelector
}

type (
	temporalityKey struct{}
	aggregationKey struct{}
)

type option struct{ key, value any }

// ApplyEndpoint implements stefsdk.Option.
func (o option) ApplyEndpoint(c *settings.Endpoint) error { return o.apply(&c.Stream) }

// ApplyFile implements stefsdk.FileOption.
func (o option) ApplyFile(c *settings.File) error { return o.apply(&c.Stream) }

func (o option) apply(s *settings.Stream) error {
	if o.value == nil {
		return errors.New("WithTemporalitySelector or WithAggregationSelector: the selector is nil")
	}
	s.Put(o.key, o.value)
	return nil
}

// WithTemporalitySelector sets the temporality for each kind of instrument. The
// default is cumulative for all kinds, unless
// OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE sets another default.
func WithTemporalitySelector(selector sdkmetric.TemporalitySelector) stefsdk.CommonOption {
	if selector == nil {
		return option{temporalityKey{}, nil}
	}
	return option{temporalityKey{}, selector}
}

// WithAggregationSelector sets the aggregation for each kind of instrument. The
// default is sdkmetric.DefaultAggregationSelector, unless
// OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION sets another default.
func WithAggregationSelector(selector sdkmetric.AggregationSelector) stefsdk.CommonOption {
	if selector == nil {
		return option{aggregationKey{}, nil}
	}
	return option{aggregationKey{}, selector}
}

func selectorsOf(s *settings.Stream) selectors {
	x := fromEnvironment()
	if t, ok := s.Extra[temporalityKey{}].(sdkmetric.TemporalitySelector); ok {
		x.temporality = t
	}
	if a, ok := s.Extra[aggregationKey{}].(sdkmetric.AggregationSelector); ok {
		x.aggregation = a
	}
	return x
}

const (
	temporalityVariable = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
	histogramVariable   = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"
)

func fromEnvironment() selectors {
	x := selectors{sdkmetric.CumulativeTemporalitySelector, sdkmetric.DefaultAggregationSelector}
	switch v := strings.ToLower(os.Getenv(temporalityVariable)); v {
	case "", "cumulative":
	case "delta":
		x.temporality = sdkmetric.DeltaTemporalitySelector
	case "lowmemory":
		x.temporality = sdkmetric.LowMemoryTemporalitySelector
	default:
		otel.Handle(fmt.Errorf("stef: %s is %q and is ignored: set it to cumulative, delta or lowmemory", temporalityVariable, v))
	}
	switch v := strings.ToLower(os.Getenv(histogramVariable)); v {
	case "", "explicit_bucket_histogram":
	case "base2_exponential_bucket_histogram":
		x.aggregation = exponential
	default:
		otel.Handle(fmt.Errorf("stef: %s is %q and is ignored: set it to explicit_bucket_histogram or base2_exponential_bucket_histogram", histogramVariable, v))
	}
	return x
}

// exponential is the default selector, except for histograms: histograms are exponential, with the
// default parameters of the specification.
func exponential(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	if kind == sdkmetric.InstrumentKindHistogram {
		return sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
	}
	return sdkmetric.DefaultAggregationSelector(kind)
}
