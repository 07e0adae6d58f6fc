// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	descriptors "github.com/otelstef/stef/internal/signal"
)

// comments returns the text of a file without comment marks, and with single spaces between words.
func comments(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", " ")), " ")
}

// go doc prints the constants MaxDepth and MaxItemBytes as names of an internal package, not as
// numbers. Therefore the package comments contain the numbers.
func TestLimitsInComments(t *testing.T) {
	for file, limits := range map[string][2]int{
		"doc.go":          {stefpdata.MaxDepth, stefpdata.MaxItemBytes},
		"stefotlp/doc.go": {stefotlp.MaxDepth, stefotlp.MaxItemBytes},
	} {
		text := comments(t, file)
		require.Zero(t, limits[1]%(1<<20))
		require.Contains(t, text, fmt.Sprintf("%d attributes in a list", stef.MaxPairs), file)
		require.Contains(t, text, fmt.Sprintf("%d nested arrays and maps", limits[0]), file)
		require.Regexp(t, regexp.MustCompile(fmt.Sprintf(`\b%d MiB\W+MaxItemBytes`, limits[1]>>20)), text, file)
	}
}

// go doc does not print the fields of types that are declared in an internal package, so the
// comments of the aliases name all fields.
func TestFieldsInComments(t *testing.T) {
	for file, types := range map[string][]reflect.Type{
		"errors.go": {
			reflect.TypeFor[stefpdata.ItemError](), reflect.TypeFor[stefpdata.RecordError](), reflect.TypeFor[stefpdata.Losses](),
		},
		"stefotlp/errors.go": {
			reflect.TypeFor[stefotlp.ItemError](), reflect.TypeFor[stefotlp.RecordError](), reflect.TypeFor[stefotlp.Losses](),
		},
	} {
		text := comments(t, file)
		for _, typ := range types {
			_, doc, ok := strings.Cut(text, " "+typ.Name()+" ")
			require.True(t, ok, typ)
			doc, _, ok = strings.Cut(doc, " "+typ.Name()+" = ")
			require.True(t, ok, typ)
			for i := range typ.NumField() {
				f := typ.Field(i)
				require.Regexp(t, regexp.MustCompile(`\b`+f.Name+`\b`), doc, typ)
				require.Regexp(t, regexp.MustCompile(`\b`+f.Type.String()+`\b`), doc, typ)
			}
		}
	}
}

// A flush after a batch without items writes no frame.
func TestFlushOfEmptyBatch(t *testing.T) {
	testFlushOfEmptyBatch(t, descriptors.Metrics)
	testFlushOfEmptyBatch(t, descriptors.Traces)
	testFlushOfEmptyBatch(t, descriptors.Logs)
}

func testFlushOfEmptyBatch[B any](t *testing.T, d *descriptors.Descriptor[B]) {
	t.Helper()
	var out bytes.Buffer
	e, err := d.NewEncoder(&out, nil)
	require.NoError(t, err)
	require.NoError(t, e.Writer.Flush())
	before := out.Len()
	require.NoError(t, e.Encode(d.New()))
	require.NoError(t, e.Writer.Flush())
	require.Equal(t, before, out.Len(), d.Name)
}
