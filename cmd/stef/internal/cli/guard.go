// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/cmd/stef/internal/file"
)

// guard refuses to replace an existing file. It refuses only when the first byte is written,
// because errors of the inputs must be reported first. If refusal is nil, it refuses nothing.
type guard struct {
	w       io.Writer
	refusal error
}

func (g *guard) Write(b []byte) (int, error) {
	if g.refusal != nil {
		return 0, g.refusal
	}
	return g.w.Write(b)
}

// cause returns the refusal if it caused err, the error of a write. Otherwise it returns err.
func (g *guard) cause(err error) error {
	if g.refusal != nil && errors.Is(err, g.refusal) {
		return g.refusal
	}
	return err
}

// overwrite returns an error if OUT exists and --force is not set.
func (c *conversion) overwrite(inNames []string, outName string) error {
	switch {
	case c.force || outName == "-" || !exists(outName):
		return nil
	case c.perSignal: // the user did not write this name, so it is not meant as an input
		return existsError(outName)
	case len(inNames) > 1 || sameFormat(inNames[0], outName):
		return lastName(outName)
	}
	return existsError(outName)
}

// lastName returns the error for an OUT that exists: the user may have meant it as an input.
func lastName(outName string) error {
	return completef("the last name, %s, is the output, and this file exists: if it is an input, add a name for the output; to overwrite it, use --force", outName)
}

// sameFormat reports whether the contents of IN and OUT have the same format.
func sameFormat(inName, outName string) bool {
	in := formatOf(inName)
	return in != convert.Unknown && in == formatOf(outName)
}

// formatOf returns the format of the content of a regular file, or Unknown.
func formatOf(name string) convert.Format {
	if name == "-" || !exists(name) {
		return convert.Unknown
	}
	in, err := file.Open(name, nil)
	if err != nil {
		return convert.Unknown
	}
	defer in.Close()
	var o convert.Options
	f, err := o.Guess(in)
	if err != nil {
		return convert.Unknown
	}
	return f
}

// existsError is the error of an output that exists.
func existsError(name string) error { return completef("%s exists; --force overwrites it", name) }

// openable returns the errors of all inputs that do not exist, cannot be read or have no known
// format, before anything is written. It opens regular files only: a pipe can be opened once.
func openable(o convert.Options, inNames []string, outName string) error {
	var all allErrors
	for _, name := range inNames {
		info, err := os.Stat(name)
		switch {
		case name == "-":
			continue
		case errors.Is(err, fs.ErrNotExist) && !strings.Contains(name, "*") && len(inNames) == 1 && outName != "-" && exists(outName):
			return &file.Error{Name: name, Err: fmt.Errorf("there is no such file, and %s exists: are IN and OUT reversed?", outName)}
		case err == nil && !info.Mode().IsRegular() && !info.IsDir():
			continue
		}
		in, err := file.Open(name, nil)
		if err == nil {
			_, err = o.Guess(in)
			in.Close()
		}
		omitted := errors.Is(err, file.ErrEmpty) || o.Skip && errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !(len(inNames) > 1 && omitted) {
			all = append(all, err)
		}
	}
	if len(all) > 0 {
		return all
	}
	return nil
}

// create creates OUT.
func (c *conversion) create(env *Env, inName, outName string) (*file.Output, error) {
	if info, err := os.Stat(outName); outName != "-" && err == nil && info.IsDir() {
		return nil, &file.Error{Name: outName, Err: fmt.Errorf("is a folder; name a file in it: %s", filepath.Join(outName, streamName(inName)))}
	}
	return env.Temps.Create(outName, env.Stdout, c.force)
}

// streamName returns a file name to suggest for a stream converted from an input.
func streamName(inName string) string {
	if inName == "-" {
		return "telemetry.stef"
	}
	base := filepath.Base(inName)
	for _, end := range []string{".zst", ".zstd", ".gz", filepath.Ext(base)} {
		base = strings.TrimSuffix(base, end)
	}
	return strings.TrimSuffix(base, filepath.Ext(base)) + ".stef"
}

var placeholder = regexp.MustCompile(`\{[A-Za-z_]*\}`)

// checkMarks returns an error if the name of OUT has a placeholder other than {signal}.
func checkMarks(outName string) error {
	for _, mark := range placeholder.FindAllString(outName, -1) {
		if mark != convert.SignalMark {
			return completef("%s in the name of OUT is no placeholder: the only one is %s", mark, convert.SignalMark)
		}
	}
	return nil
}

// sameAs returns the first input that is the existing file outName, or "" if there is none.
func sameAs(outName string, inNames []string) string {
	out, err := os.Stat(outName)
	if err != nil || !out.Mode().IsRegular() {
		return ""
	}
	for _, name := range inNames {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, out) {
			return name
		}
	}
	return ""
}

// warnRepeated prints which inputs are named several times.
func warnRepeated(w io.Writer, names []string) {
	count := map[string]int{}
	for _, name := range names {
		count[filepath.Clean(name)]++
	}
	seen := map[string]int{}
	for _, name := range names {
		clean := filepath.Clean(name)
		if seen[clean]++; seen[clean] != 2 || name == "-" || emptyFile(name) {
			continue
		}
		times := "twice"
		if n := count[clean]; n > 2 {
			times = figure.Grouped(n) + " times"
		}
		fmt.Fprintf(w, "warning: %s is named %s, so its items are in the output %s\n", name, times, times)
	}
}

// emptyFile reports whether a name is a regular file without content: no bytes, or only white
// space. If there are several inputs, commands leave out such files.
func emptyFile(name string) bool {
	if !exists(name) {
		return false
	}
	in, err := file.Open(name, nil)
	if err != nil {
		return false
	}
	defer in.Close()
	return in.Empty() != nil
}
