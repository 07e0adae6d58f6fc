// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// smallBounds has values for the bounds of tables, caches and items that each random stream
// exceeds. The last files have the bounds of the rules of the specification, which must be the
// same as in stef-go.
var smallBounds = map[string]string{
	"stef-go/otelstef/series.go":                    "maxSeries 5, maxSeriesPairs 17, maxSeriesWords 40, writtenWords 60",
	"stef-go/otelstef/compact_exemplars.go":         "maxSharedExemplars 3, maxExemplarBytes 500",
	"stef-go/internal/compact/point.go":             "maxTicks 4",
	"stef-go/internal/compact/ids.go":               "maxTraces 4, maxIDs 16",
	"stef-pdata/internal/mapping/limits.go":         "MaxItemBytes 4000",
	"stef-pdata/internal/intern/index.go":           "MaxContainers 4, MaxSets 8, MaxHeldBytes 9000",
	"stef-pdata/internal/intern/names.go":           "MaxNames 2, maxNameBytes 60",
	"stef-pdata/internal/intern/keys.go":            "MaxKeys 5, maxKeyBytes 50, maxSetBytes 40, maxIdleKeys 3",
	"stef-pdata/internal/intern/key_order.go":       "orderSlots 2, firstPause 2, maxPause 8",
	"stef-pdata/internal/intern/pair_cache.go":      "firstPairBits 1, pairBits 3, pairGrowth 1, maxValue 20, maxUsed 3",
	"stef-pdata/internal/intern/sets.go":            "minNewBatches 2, minNewSets 2, initialLastSets 4, maxLastSets 16",
	"stef-pdata/internal/items/references.go":       "maxPredictions 3, maxReplaced 80, searchFirst 4, searchEvery 2, mostCompared 1",
	"stef-pdata/internal/template/splitter.go":      "maxTextShapes 4, maxTextShapeBytes 2000, maxPolicies 2, minFirst 2, maxIdle 2",
	"stef-pdata/internal/template/ref_templates.go": "maxRefTemplates 2",
	"stef-pdata/internal/template/policy.go":        "maxCounted 8, maxPause 4",
	"stef-pdata/stefotlp/pool.go":                   "maxPooled 3, maxPooledBytes 9000",
	"stef-pdata/stefotlp/seen_pairs.go":             "seenSlots 4",

	"stef-spec/compact_metrics_rules_test.go":   "ruleSeries 5, rulePairs 17, ruleWords 40, ruleTicks 4",
	"stef-spec/compact_exemplars_rules_test.go": "ruleExemplars 3, ruleExemplarBytes 500",
	"stef-spec/compact_ids_rules_test.go":       "ruleTraces 4, ruleIDs 15",
}

// withBounds returns the source of a Go file with other values of constants. bounds has their
// names and values.
func withBounds(source, bounds string) (string, error) {
	for _, bound := range strings.Split(bounds, ", ") {
		name, value, _ := strings.Cut(bound, " ")
		line := regexp.MustCompile(`(?m)^(\t|const )` + name + ` += .*$`)
		if n := len(line.FindAllString(source, -1)); n != 1 {
			return "", fmt.Errorf("%d lines define the constant %s: adapt smallBounds", n, name)
		}
		source = line.ReplaceAllString(source, "${1}"+name+" = "+value)
	}
	return source, nil
}

// TestSmallBounds writes and reads random streams with very small bounds (see smallBounds). Data
// that is remembered after its table was emptied, or by only one end of a stream, then changes
// items. The go command reads the changed constants from an overlay. So they stay constants, which
// cost no time, and no program can change the bounds, which are part of the format.
func TestSmallBounds(t *testing.T) {
	dir, left := t.TempDir(), len(smallBounds)
	replace := map[string]string{}
	for i, f := range repo(t) {
		bounds, ok := smallBounds[f.path]
		if !ok {
			continue
		}
		left--
		source, err := withBounds(string(f.data), bounds)
		require.NoError(t, err, f.path)
		path := filepath.Join(dir, fmt.Sprint(i, ".go"))
		require.NoError(t, os.WriteFile(path, []byte(source), 0o600))
		original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(f.path)))
		require.NoError(t, err)
		replace[original] = path
	}
	require.Zero(t, left, "smallBounds names files that do not exist")
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	path := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, overlay, 0o600))
	const tests = "^(TestRandomStreams|TestCompactRecords)$"
	cmd := exec.Command("go", "test", "-short", "-vet=off", "-overlay", path, "-run", tests, "./stef-pdata", "./stef-spec")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "STEF_STREAMS=25")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NotContains(t, string(output), "no tests to run")
}

func TestWithBounds(t *testing.T) {
	source := "\tmaxA  = 1 << 16 // comment\n\tmaxAB = 2\nconst max = 3\n"
	got, err := withBounds(source, "maxA 5, max 7")
	require.NoError(t, err)
	require.Equal(t, "\tmaxA = 5\n\tmaxAB = 2\nconst max = 7\n", got)
	_, err = withBounds(source, "maxC 1")
	require.ErrorContains(t, err, "0 lines define the constant maxC")
	_, err = withBounds(source+source, "max 1")
	require.ErrorContains(t, err, "2 lines define the constant max")
}
