// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/choices"
	"github.com/otelstef/stef/internal/stefgen/testdata/optionals"
	"github.com/otelstef/stef/internal/stefgen/testdata/scalars"
	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

func load(tb testing.TB, elem ...string) *schema.Schema {
	tb.Helper()
	path := filepath.Join(append([]string{teltest.Root(tb)}, elem...)...)
	src, err := os.ReadFile(path)
	require.NoError(tb, err)
	s, err := idl.Parse(path, src)
	require.NoError(tb, err)
	return s
}

func fixture(tb testing.TB, name string) *schema.Schema {
	return load(tb, "internal", "stefgen", "testdata", name, "schema.stef")
}

func metricsRoot(tb testing.TB) *steftest.Root {
	return steftest.NewRoot(load(tb, "stef-spec", "otel.stef").Root("Metrics"), otelstef.MetricsBaseSchema(),
		otelstef.NewMetricsWriter, otelstef.NewMetricsReader,
		otelstef.NewMetrics, otelstef.NewMetric, otelstef.NewResource, otelstef.NewScope, otelstef.NewEnvelope, otelstef.NewEnvelopeAttributes,
		otelstef.NewAttributes, otelstef.NewAnyValue, otelstef.NewKeyValueList, otelstef.NewEntityRef, otelstef.NewPoint,
		otelstef.NewPointValue, otelstef.NewHistogramValue, otelstef.NewExpHistogramValue, otelstef.NewExpHistogramBuckets,
		otelstef.NewSummaryValue, otelstef.NewQuantileValue, otelstef.NewExemplar, otelstef.NewExemplarValue)
}

func optionalsRoot(tb testing.TB) *steftest.Root {
	return steftest.NewRoot(fixture(tb, "optionals").Root("Record"), nil,
		optionals.NewRecordWriter, optionals.NewRecordReader, optionals.NewRecord, optionals.NewShared, optionals.NewTree,
		optionals.NewSub, optionals.NewInner, optionals.NewDeeper, optionals.NewTags, optionals.NewInner2, optionals.NewChoice, optionals.NewChain, optionals.NewBranch, optionals.NewTreeMap)
}

func choicesRoot(tb testing.TB) *steftest.Root {
	return steftest.NewRoot(fixture(tb, "choices").Root("Record"), nil,
		choices.NewRecordWriter, choices.NewRecordReader, choices.NewRecord, choices.NewShared, choices.NewAny,
		choices.NewPoint, choices.NewSeven, choices.NewTags, choices.NewAny2, choices.NewOne, choices.NewNumbers, choices.NewThree, choices.NewTexts, choices.NewBoxed)
}

func scalarsRoot(tb testing.TB) *steftest.Root {
	return steftest.NewRoot(fixture(tb, "scalars").Root("Plain"), nil,
		scalars.NewPlainWriter, scalars.NewPlainReader, scalars.NewPlain, scalars.NewMaybe, scalars.NewLists)
}
