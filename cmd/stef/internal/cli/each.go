// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
)

// each converts the signals of a file in turn, each to its own file. It skips
// signals without items.
func (c *conversion) each(env *Env, o convert.Options, inName, outName string) error {
	in, err := file.Open(inName, nil)
	if err != nil {
		return err
	}
	roots, err := o.RootsOf(in)
	in.Close()
	if err != nil {
		return err
	}
	if o.Skip && len(roots) > 1 {
		return c.severalBySignal(env, o, []string{inName}, outName)
	}
	outOf := func(root *stream.Root) string {
		return strings.ReplaceAll(outName, convert.SignalMark, root.Signal.String())
	}
	begin := time.Now()
	var ignored []otlpfile.UnknownField // unknown fields belong to no signal, so each conversion finds them
	var all []*done
	defer func() {
		for _, d := range all {
			d.out.Discard()
		}
	}()
	for _, root := range roots {
		o.Root, o.OutName = root, outOf(root)
		d, err := c.one(env, o, inName, o.OutName, true)
		if errors.Is(err, convert.ErrOtherSignal) || errors.Is(err, convert.ErrUnsupported) && len(roots) > 1 && !holds(inName, root) {
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	var written []*done
	for _, d := range all { // no output file exists if one of the conversions failed
		if d.res.Items+d.res.Skipped == 0 {
			continue
		}
		if err := d.out.Commit(); err != nil {
			return err
		}
		written = append(written, d)
	}
	if !c.quiet && len(written) > 0 {
		first := written[0]
		summariseAll(env.Stderr, fmt.Sprintf("%s: %s, %s", first.in.Name, first.res.From, contentOf(first.in)), all[0].in.Content(), written, time.Since(begin))
	}
	for _, d := range all { // after the total: the last lines say what is missing
		d.res.Ignored = slices.DeleteFunc(d.res.Ignored, func(f otlpfile.UnknownField) bool {
			seen := slices.Contains(ignored, f)
			ignored = append(ignored, f)
			return seen
		})
		if d.res.Items+d.res.Skipped == 0 {
			warn(env.Stderr, &convert.Result{Ignored: d.res.Ignored})
			continue
		}
		warnOf(env.Stderr, d.out.Name, d.res)
		err = cmp.Or(err, lost(d.res))
	}
	if len(written) == 0 {
		return noItems([]string{inName})
	}
	return err
}

// holds reports whether a file contains items of a root, or cannot be read.
func holds(name string, root *stream.Root) bool {
	in, err := file.Open(name, nil)
	if err != nil {
		return true
	}
	defer in.Close()
	found, err := convert.Signals(in)
	return err != nil || slices.Contains(found, root.Signal)
}

// anyHolds reports whether one of several files contains items of a root, or cannot be read. It
// leaves out empty files.
func anyHolds(o convert.Options, names []string, root *stream.Root) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		in, err := file.Open(name, nil)
		if err != nil {
			return true
		}
		defer in.Close()
		switch roots, err := o.RootsOf(in); {
		case errors.Is(err, file.ErrEmpty):
			return false
		case err != nil:
			return true
		case len(roots) == 1:
			return roots[0] == root
		}
		return holds(name, root)
	})
}

// eachInput calls f for each of several inputs, up to the first error. It leaves out empty inputs
// and prints their names. If there is only one input, or all are empty, it returns their error.
func eachInput(env *Env, names []string, f func(name string) error) (err error) {
	empty := 0
	for _, name := range names {
		e := f(name)
		if e != nil && !errors.Is(e, file.ErrEmpty) {
			return e
		}
		if e != nil {
			empty, err = empty+1, e
			if len(names) > 1 {
				fmt.Fprintf(env.Stderr, "left out: %s\n", message(e))
			}
		}
	}
	if empty < len(names) {
		return nil
	}
	return err
}

// severalTimes returns an error if an input cannot be read several times. subject is the feature
// that needs several reads. A pipe, such as <(zcat all.json.gz), is empty when it is read again.
func severalTimes(subject string, names []string) error {
	or := ""
	if subject == convert.SignalMark {
		or = ", or convert one signal, with --signal"
	}
	for _, name := range names {
		if name == "-" {
			return completef("%s reads its input several times, which standard input does not allow: write it to a file first%s", subject, or)
		}
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return completef("%s reads its input several times, but %s is a pipe or a device: write its content to a file first%s", subject, name, or)
		}
	}
	return nil
}
