// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/idl"
)

func TestMustParse(t *testing.T) {
	s := idl.MustParse("a.stef", "package a\nstruct A root { X int64 }")
	require.Equal(t, "X", s.Root("A").Fields[0].Name)
	require.Panics(t, func() { idl.MustParse("a.stef", "package") })
}
