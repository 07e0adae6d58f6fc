// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/file"
)

func TestLikeness(t *testing.T) {
	tar := strings.Repeat("\x00", 257) + "ustar\x00"
	for head, want := range map[string]string{
		"häuser und ä":             `it begins with "häuser und ä" and looks like text`,
		"text that is cut in \xc3": `it begins with "text that is cut in \xc3" and looks like text`,
		"latin-1: h\xe4user":       `it begins with "latin-1: h\xe4user" and looks like binary data`,
		" [ {\"a\":1}]":            `it begins with " [ {\"a\":1}]" and looks like a JSON array: write one object per line instead, as jq -c '.[]' does`,
		"a\x00b":                   `it begins with "a\x00b" and looks like binary data`,
		"Obj\x01x":                 `it begins with "Obj\x01x" and looks like Avro`,
		"BZh91AY":                  `it begins with "BZh91AY" and looks like bzip2: decompress it first`,
		tar:                        `it begins with "` + strings.Repeat(`\x00`, 24) + `" and looks like a tar archive: unpack it first`,
		strings.Repeat("x", 100):   `it begins with "` + strings.Repeat("x", 24) + `" and looks like text`,
	} {
		require.Equal(t, want, file.DescribeUnknown([]byte(head)))
	}
}
