// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/report"
)

func TestPage(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "chaos"), t.TempDir()
	require.NoError(t, os.Mkdir(in, 0o777))
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(in, name), []byte(text), 0o666))
	}
	write("summary.txt", "faults: 2\nduplicates: 300\n")
	write("faults.csv", "seconds,fault,lasted,recovered\n1.0,cut,0.00,0.25\n9.0,cut,0.00,1.75\n")
	write("samples.csv", "seconds,process,life,resident_mib,goroutines,files,cpu_seconds,queue_mib,backlog\n"+
		"2.0,agent,1,50.5,47,19,0.1,1,0\n2.0,backend,1,45,17,15,0.1,0,0\n4.0,agent,1,51,48,19,0.2,1,10\n4.0,backend,1,45,17,15,0.2,0,10\n")
	t.Chdir("..")
	require.NoError(t, run(in, out, "make chaos"))
	text, err := os.ReadFile(filepath.Join(out, "chaos.txt"))
	require.NoError(t, err)
	require.Regexp(t, `duplicates +300`, string(text))
	require.Regexp(t, `cut +2 +1\.75 +1\.75`, string(text))
	page, err := os.ReadFile(filepath.Join(out, "chaos.html"))
	require.NoError(t, err)
	require.Empty(t, report.Foreign(string(page)))
	require.Equal(t, 5, strings.Count(string(page), "<svg"))
	for _, name := range []string{"chaos-memory.png", "chaos-goroutines.png", "chaos-files.png", "chaos-queue.png", "chaos-backlog.png"} {
		require.FileExists(t, filepath.Join(out, name))
	}
	require.Error(t, run(t.TempDir(), out, ""))
}

func TestPointsKeepPeaks(t *testing.T) {
	var samples []row
	for i := range 5 * maxPoints {
		v := "1"
		if i == 777 {
			v = "9"
		}
		samples = append(samples, row{"process": "agent", "seconds": "60", "x": v})
	}
	all := points(samples, "agent", "x")
	require.Len(t, all, maxPoints)
	require.EqualValues(t, 9, all[777/5].Y)
}
