// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Command guard compares the work tree with another revision and names the
// figures that got slower or larger:
//
//	go run ./guard -base main
//
// It builds the benchmarks of both revisions, each with the product code of its revision. Both
// run in turns, so that other load on the machine affects both. A figure is worse if its median
// is worse by more than the threshold of its unit, and if the two samples are unlikely to be
// from one distribution (Mann-Whitney U test). Bytes of streams do not vary and are compared
// directly. The exit status is 1 if a figure is worse.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var errWorse = errors.New("something is slower or larger")

func main() {
	err := guard(os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, errWorse):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(2)
	}
}

func guard(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("guard", flag.ContinueOnError)
	base := flags.String("base", "main", "the `revision` to compare with")
	rounds := flags.Int("rounds", 10, "turns of each side")
	bench := flags.String("bench", "^BenchmarkGuard", "benchmarks to run")
	turn := flags.String("benchtime", "20ms", "time of a benchmark in a turn")
	threshold := flags.Float64("threshold", 5, "per cent by which time may be worse")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "stef-guard")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(out, "building the benchmarks of %s and of the work tree\n", *base)
	tree := filepath.Join(dir, "base")
	if err := checkout(*base, tree); err != nil {
		return err
	}
	sides := []*side{
		{name: *base, folder: filepath.Join(tree, "benchmarks"), program: filepath.Join(dir, "base.test")},
		{name: "work tree", folder: ".", program: filepath.Join(dir, "head.test")},
	}
	for _, s := range sides {
		if err := s.build(); err != nil {
			return fmt.Errorf("building %s: %w", s.name, err)
		}
	}
	for round := range *rounds {
		fmt.Fprintf(out, "round %d of %d\n", round+1, *rounds)
		for i := range sides {
			// The sides alternate, because the first side runs on a cooler processor.
			if err := sides[(i+round)%len(sides)].run(*bench, *turn); err != nil {
				return err
			}
		}
	}
	changes := compare(sides[0].samples, sides[1].samples, *threshold/100)
	return print(out, *base, changes)
}

// checkout writes the files of a revision to a folder, without changing the
// repository.
func checkout(revision, folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("git found no repository in the current folder: %w", err)
	}
	find := exec.Command("git", "rev-parse", "--verify", "--quiet", revision+"^{commit}")
	find.Dir = strings.TrimSpace(string(top))
	if err := find.Run(); err != nil {
		return fmt.Errorf("-base %s (BASE of make guard): no such revision; see git branch -a", revision)
	}
	archive := exec.Command("git", "archive", "--format=tar", revision)
	archive.Dir, archive.Stderr = strings.TrimSpace(string(top)), os.Stderr
	unpack := exec.Command("tar", "-x", "-C", folder)
	unpack.Stderr = os.Stderr
	if unpack.Stdin, err = archive.StdoutPipe(); err != nil {
		return err
	}
	if err := unpack.Start(); err != nil {
		return err
	}
	if err := errors.Join(archive.Run(), unpack.Wait()); err != nil {
		return fmt.Errorf("unpacking %s: %w", revision, err)
	}
	return nil
}
