// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of stef: its commands, their flags and texts,
// and what they print. What the commands do is in the packages beside it.
//
// Run is the whole program but for the process around it, so tests run it:
//
//	code := cli.Run([]string{"cat", "-"}, cli.Env{Stdin: r, Stdout: w, Stderr: e})
//
// A new command is an entry of the list in commands.go.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
)

// The exit codes of the program.
const (
	ExitDone        = 0
	ExitData        = 1   // the content of a file is bad
	ExitUsage       = 2   // the command line is
	ExitIO          = 3   // a file cannot be read or written
	ExitInterrupted = 130 // as of a shell
)

// Env is what a process has beside its arguments.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Temps has the temporary files that are to go when the process does.
	Temps *file.Temps
	// Terminal says that Stderr is one, which gets progress bars.
	Terminal bool

	// progressAfter is how long a command runs before it shows progress.
	progressAfter time.Duration
}

// Run runs a command line, without the name of the program, and returns the exit
// code.
func Run(args []string, env Env) int {
	if env.Temps == nil {
		env.Temps = new(file.Temps)
	}
	defer env.Temps.Remove()
	if env.progressAfter == 0 {
		env.progressAfter = time.Second
	}
	if len(args) == 0 {
		fmt.Fprint(env.Stderr, overview())
		return ExitUsage
	}
	name, args := args[0], args[1:]
	switch name {
	case "-h", "-help", "--help":
		name, args = "help", nil
	case "-version", "--version":
		name, args = "version", nil
	}
	c := commandOf(name)
	if c == nil {
		fmt.Fprintf(env.Stderr, "stef: there is no command %q; stef help lists them\n", name)
		return ExitUsage
	}
	return env.report(c, c.run(&env, args))
}

// report prints an error and returns its exit code.
func (env *Env) report(c *command, err error) int {
	if err == nil {
		return ExitDone
	}
	var usage *usageError
	var failed *file.Error
	fmt.Fprintf(env.Stderr, "stef %s: %s\n", c.name, message(err))
	switch {
	case errors.As(err, &usage), errors.Is(err, convert.ErrUnsupported):
		fmt.Fprintf(env.Stderr, "usage: stef %s\nstef help %s tells more\n", c.usage, c.name)
		return ExitUsage
	case errors.As(err, &failed):
		return ExitIO
	}
	return ExitData
}

// message is the text of an error without the names of packages, which mean
// nothing to who uses the program.
func message(err error) string {
	text := err.Error()
	for _, name := range []string{"otlpfile: ", "stefpdata: ", "stef: ", "annotate: "} {
		text = strings.ReplaceAll(text, ": "+name, ": ")
		text = strings.TrimPrefix(text, name)
	}
	return text
}

// usageError is an error of the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// command is one of the commands.
type command struct {
	name string
	// usage is the command line, summary a line for the list of commands and
	// help the text of stef help.
	usage, summary, help string
	// define declares the flags and returns what runs when they are parsed.
	define func(flags *flag.FlagSet) func(env *Env, args []string) error
}

func (c *command) run(env *Env, args []string) error {
	flags, do := c.flags()
	args, err := parse(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		return write(env.Stdout, c.text())
	}
	if err != nil {
		return usagef("%s", flagText(err))
	}
	return do(env, args)
}

// flagText is the text of an error of package flag, with flags as they are
// written here.
func flagText(err error) string {
	return strings.NewReplacer(
		"flag provided but not defined: -", "there is no flag --",
		"flag needs an argument: -", "a value is missing after --",
		"for flag -", "for --",
		"for -", "for --",
		": parse error", "",
		"bad flag syntax: ", "this is no flag: ",
	).Replace(err.Error())
}

func (c *command) flags() (*flag.FlagSet, func(*Env, []string) error) {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	return flags, c.define(flags)
}

// parse takes flags before, between and after the other arguments, and none
// after "--".
func parse(flags *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		left := flags.Args()
		taken := len(args) - len(left)
		if len(left) == 0 || taken > 0 && args[taken-1] == "--" {
			return append(rest, left...), nil
		}
		rest = append(rest, left[0])
		args = left[1:]
	}
}

// write writes text to standard output.
func write(w io.Writer, text string) error {
	_, err := io.WriteString(file.Standard(w), text)
	return err
}

// files checks the number of arguments that are no flags.
func files(args []string, names ...string) error {
	switch {
	case len(args) < len(names):
		return usagef("%s is missing", names[len(args)])
	case len(args) > len(names):
		return usagef("%q is too much", args[len(names)])
	}
	return nil
}
