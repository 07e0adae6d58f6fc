// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/otelstef/stef/internal/confkeys"
)

// commands are listed in the order of stef help.
func commands() []*command {
	return []*command{convertCommand, catCommand, statCommand, inspectCommand, repairCommand, recordCommand, replayCommand, completionCommand, versionCommand, helpCommand}
}

func commandNames() (names []string) {
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

func commandOf(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return nil
}

// didYouMean returns the command with the most similar name, as the end of a
// message. It returns "" if no command has a similar name.
func didYouMean(name string) string {
	if name == "diff" || name == "cmp" || name == "compare" {
		return ": to compare two files, compare the output of 'stef cat --sort-keys FILE | sort' for both"
	}
	near := confkeys.Nearest(commandNames(), name)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", near)
}

// overview is the text of stef help.
func overview() string {
	var b strings.Builder
	b.WriteString("Stef converts telemetry between OTLP, STEF, Parquet and Arrow, and shows what is in STEF streams.\n\nusage: stef COMMAND [FLAG]... [FILE]...\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.summary)
	}
	b.WriteString(`
'stef help COMMAND' explains a command. A file named - is standard input or output.
Input may be compressed with zstd or gzip. Output is compressed if its name ends in
.zst, .zstd or .gz. An output file gets its name when it is complete. If there are
several inputs, empty ones (no bytes, or only white space) are left out and their names
printed.

Exit codes: 0 done, 1 bad data, 2 bad usage or flags that do not fit a file, 3 input or
output failed, 4 done, but a part of the input is lost (repair, convert --skip) or was
permanently rejected by the endpoint (replay), 130 interrupted (record ends normally with 0).
`)
	return b.String()
}

// text is the text of stef help for a command.
func (c *command) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: stef %s\n\n%s", c.usage, c.help)
	flags, _ := c.flags()
	first := true
	flags.VisitAll(func(f *flag.Flag) {
		if first {
			b.WriteString("\nFlags:\n\n")
			first = false
		}
		name, value, usage := flagParts(f)
		fmt.Fprintf(&b, "  %s\n      %s\n", strings.TrimRight(name+" "+value, " "), strings.ReplaceAll(usage, "\n", "\n      "))
	})
	return b.String()
}

// flagParts returns a flag with its dashes, the value that it takes, or "" if it takes none, and the
// text about it.
func flagParts(f *flag.Flag) (name, value, usage string) {
	name, usage = "--"+f.Name, f.Usage
	if len(f.Name) == 1 {
		name = "-" + f.Name
	}
	// A usage is "`VALUE` TEXT", or only a text for flags without a value.
	if rest, ok := strings.CutPrefix(usage, "`"); ok {
		value, usage, _ = strings.Cut(rest, "` ")
	}
	return name, value, usage
}

var helpCommand = &command{
	name:    "help",
	usage:   "help [COMMAND]",
	summary: "explain a command",
	help:    "Explains a command, or lists the commands.\n",
}

// help uses the list of commands, and the list contains help: set define in init to avoid
// an initialization cycle.
func init() {
	helpCommand.define = func(*flag.FlagSet) func(*Env, []string) error {
		return func(env *Env, args []string) error {
			if len(args) == 0 {
				return write(env.Stdout, overview())
			}
			c := commandOf(args[0])
			if c == nil {
				return usagef("there is no command %q%s", args[0], didYouMean(args[0]))
			}
			if err := files(args, "COMMAND"); err != nil {
				return err
			}
			return write(env.Stdout, c.text())
		}
	}
}

var versionCommand = &command{
	name:    "version",
	usage:   "version",
	summary: "print the version",
	help:    "Prints the version of the program and of the format it writes.\n",
	define: func(*flag.FlagSet) func(*Env, []string) error {
		return func(env *Env, args []string) error {
			if err := files(args); err != nil {
				return err
			}
			return write(env.Stdout, version())
		}
	},
}

// version is the version that the go command recorded in the program.
func version() string {
	module, revision := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			module = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = ", revision " + s.Value
			}
		}
	}
	return fmt.Sprintf("stef %s%s, STEF format 0, %s %s/%s\n", module, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
