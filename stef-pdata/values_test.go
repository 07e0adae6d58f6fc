// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// TestValues: the constants of package otelstef have the same numbers as the enums of OTLP.
func TestValues(t *testing.T) {
	require.EqualValues(t, ptrace.StatusCodeUnset, otelstef.StatusCodeUnset)
	require.EqualValues(t, ptrace.StatusCodeOk, otelstef.StatusCodeOK)
	require.EqualValues(t, ptrace.StatusCodeError, otelstef.StatusCodeError)
	for want, have := range map[plog.SeverityNumber]uint64{
		plog.SeverityNumberUnspecified: otelstef.SeverityUnspecified,
		plog.SeverityNumberTrace:       otelstef.SeverityTrace,
		plog.SeverityNumberDebug:       otelstef.SeverityDebug,
		plog.SeverityNumberInfo:        otelstef.SeverityInfo,
		plog.SeverityNumberInfo3:       otelstef.SeverityInfo3,
		plog.SeverityNumberWarn:        otelstef.SeverityWarn,
		plog.SeverityNumberError:       otelstef.SeverityError,
		plog.SeverityNumberFatal:       otelstef.SeverityFatal,
		plog.SeverityNumberFatal4:      otelstef.SeverityFatal4,
	} {
		require.EqualValues(t, want, have)
	}
}
