// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

// merged is a conversion of several files of one signal into one file.
type merged struct {
	done
	content []int64 // bytes of each input, uncompressed; 0 if nothing of it was converted
}

// several converts files of one signal into one file.
func (c *conversion) several(env *Env, o convert.Options, inNames []string, outName string) error {
	begin := time.Now()
	m, err := c.merge(env, o, inNames, outName)
	if err != nil {
		return err
	}
	defer m.out.Discard()
	res := m.res
	if res.Root == nil {
		warn(env.Stderr, res)
		return noItems(inNames)
	}
	if err := m.out.Commit(); err != nil {
		return err
	}
	if !c.quiet {
		fmt.Fprintf(env.Stderr, "%s files, %s bytes\n", figure.Grouped(len(inNames)), figure.Grouped(contentOfAll(m)))
		compared := ""
		if sameItems(res) {
			compared = ratio(contentOfAll(m), m.out.Written())
		}
		m.output(env.Stderr, compared)
		closing(env.Stderr, res, time.Since(begin))
	}
	skippedSignals(env.Stderr, res)
	if res.Items+res.Skipped == 0 {
		fmt.Fprintf(env.Stderr, "warning: the files have no %s, so %s is empty\n", convert.ItemsOf(res.Root.Signal), m.out.Name)
	}
	warn(env.Stderr, res)
	return lost(res)
}

// contentOfAll returns how many bytes of the inputs were converted. An input that was converted
// once for each signal counts only once, with its largest converted part. These parts have
// different sizes if the input is cut.
func contentOfAll(all ...*merged) (n int64) {
	for i := range all[0].content {
		most := int64(0)
		for _, m := range all {
			most = max(most, m.content[i])
		}
		n += most
	}
	return n
}

// noItems returns the error of inputs without items.
func noItems(names []string) error {
	if len(names) > 1 {
		return errors.New("the files have no items")
	}
	return &file.ContentError{Name: names[0], Err: errors.New("the file has no items")}
}

// merge converts files of one signal into one file. The caller must commit or discard the
// output.
func (c *conversion) merge(env *Env, o convert.Options, inNames []string, outName string) (_ *merged, err error) {
	m := &merged{content: make([]int64, len(inNames))}
	m.plain = o.Compression == stef.None && otlpfile.CompressionOf(outName) == otlpfile.None
	if m.out, err = c.create(env, inNames[0], outName); err != nil {
		return nil, err
	}
	guarded := &guard{m.out, c.overwrite(inNames, outName)}
	defer func() {
		if err != nil {
			m.out.Discard()
		}
	}()
	stop := func() {}
	var last *file.Input
	open := func(i int) (*file.Input, bool, error) {
		stop()
		stop = func() {}
		if last != nil {
			m.content[i-1] = last.Content()
		}
		if i == len(inNames) {
			return nil, false, nil
		}
		in, err := file.Open(inNames[i], env.Stdin)
		if err == nil && !c.quiet {
			stop = env.progress(in)
		}
		last = in
		return in, true, err
	}
	m.res, err = convert.RunAll(open, guarded, o)
	stop()
	if err != nil {
		return nil, guarded.cause(err)
	}
	if m.res.Root != nil && guarded.refusal != nil {
		return nil, guarded.refusal
	}
	return m, nil
}

// severalBySignal converts the signals of several files in turn, each to its own file. It
// skips signals without items.
func (c *conversion) severalBySignal(env *Env, o convert.Options, inNames []string, outName string) error {
	begin := time.Now()
	var all []*merged
	defer func() {
		for _, m := range all {
			m.out.Discard()
		}
	}()
	anySignal := o
	for _, root := range stream.Roots() {
		o.Root, o.RootFlag = root, ""
		o.OutName = strings.ReplaceAll(outName, convert.SignalMark, root.Signal.String())
		m, err := c.merge(env, o, inNames, o.OutName)
		if errors.Is(err, convert.ErrOtherSignal) || errors.Is(err, convert.ErrUnsupported) && !anyHolds(anySignal, inNames, root) {
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	filled := slices.DeleteFunc(slices.Clone(all), func(m *merged) bool { return m.res.Items+m.res.Skipped == 0 })
	var written []*done
	for _, m := range filled { // no output file exists if one of the conversions failed
		if err := m.out.Commit(); err != nil {
			return err
		}
		written = append(written, &m.done)
	}
	if !c.quiet && len(written) > 0 {
		content := contentOfAll(filled...)
		summariseAll(env.Stderr, fmt.Sprintf("%s, %s bytes", figure.Count(len(inNames), "file"), figure.Grouped(content)), content, written, time.Since(begin))
	}
	told, skipped := notesOnce(all)
	warn(env.Stderr, told)
	if len(written) == 0 {
		return noItems(inNames)
	}
	for _, m := range written {
		warnOf(env.Stderr, m.out.Name, m.res)
	}
	told.Skipped = skipped // set after warn, because warn would print it, too
	return lost(told)
}

// summariseAll prints the files of the signals that have items, and their total. from describes the
// inputs, which have content bytes.
func summariseAll(w io.Writer, from string, content int64, written []*done, took time.Duration) {
	fmt.Fprintln(w, from)
	size, skipped := int64(0), uint64(0)
	for _, d := range written {
		d.output(w, ", "+items(d.res.Items, d.res.Root.Signal)+ofColumn(d.res))
		size, skipped = size+d.out.Written(), skipped+d.res.Skipped
	}
	compared := ""
	if skipped == 0 {
		compared = ratio(content, size)
	}
	fmt.Fprintf(w, "%s, %s bytes%s in %s\n", figure.Count(len(written), "file"), figure.Grouped(size), compared, figure.Seconds(took))
}

// notesOnce moves the notes of all results into one result without repetitions, because each file
// was read once for each signal. It also returns the number of skipped items.
func notesOnce(all []*merged) (told *convert.Result, skipped uint64) {
	told = &convert.Result{}
	noted := map[string]bool{}
	for _, m := range all {
		for _, f := range m.res.Ignored {
			if !slices.Contains(told.Ignored, f) {
				told.Ignored = append(told.Ignored, f)
			}
		}
		for _, f := range m.res.Files {
			if text := f.Error(); !noted[text] {
				noted[text] = true
				told.Files = append(told.Files, f)
			}
		}
		m.res.Ignored, m.res.Files = nil, nil
		skipped += m.res.Skipped
	}
	told.Files = slices.DeleteFunc(told.Files, func(f error) bool { // notes about signals that a truncated file does not contain
		base, ok := strings.CutSuffix(f.Error(), convert.NothingConverted)
		return ok && (noted[base+convert.BeginConverted] || noted[base+convert.BeforeDamage] || noted[base+convert.BeforeTrailing])
	})
	return told, skipped
}
