// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"

	"golang.org/x/perf/benchfmt"
)

type side struct {
	name, folder, program string
	samples               samples
}

// key identifies a figure by its benchmark and its unit.
type key struct{ bench, unit string }

type samples map[key][]float64

func (s *side) build() error {
	build := exec.Command("go", "test", "-c", "-o", s.program, ".")
	build.Dir, build.Stderr = s.folder, os.Stderr
	return build.Run()
}

// run runs one turn. Both sides measure the same telemetry: the sets in STEF_DATA if it is set,
// otherwise the bundled recordings, which both revisions have.
func (s *side) run(bench, turn string) error {
	run := exec.Command(s.program, "-test.run=^$", "-test.bench="+bench, "-test.benchtime="+turn, "-test.benchmem", "-test.cpu=1")
	run.Dir, run.Stderr, run.Env = s.folder, os.Stderr, environment(os.Environ())
	out, err := run.Output()
	if err != nil {
		return fmt.Errorf("running %s: %w\n%s", s.name, err, out)
	}
	found, err := s.take(bytes.NewReader(out))
	if err == nil && found == 0 {
		err = fmt.Errorf("%s has no benchmark %s", s.name, bench)
	}
	return err
}

func environment(of []string) []string {
	if os.Getenv("STEF_DATA") == "" {
		return append(of, "STEF_DATA=absent", "STEF_REQUIRE_SETS=")
	}
	return of
}

// take adds the figures in the output of a turn.
func (s *side) take(out io.Reader) (found int, err error) {
	if s.samples == nil {
		s.samples = samples{}
	}
	r := benchfmt.NewReader(out, s.name)
	for r.Scan() {
		result, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		found++
		for _, v := range result.Values {
			k := key{result.Name.String(), v.Unit}
			s.samples[k] = append(s.samples[k], v.Value)
		}
	}
	return found, r.Err()
}
