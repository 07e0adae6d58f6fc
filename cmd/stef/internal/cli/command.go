// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/internal/confkeys"
)

// usageError is an error in the command line.
type usageError struct {
	text string
	// complete is set if the text already says what to do. Then the usage is not printed.
	complete bool
}

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// completef is like usagef, for a text that already says what to do.
func completef(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...), complete: true}
}

// command is a command of the program, such as convert.
type command struct {
	name string
	// usage is the syntax of the command, summary is its line in the list of commands, and help
	// is the text of stef help.
	usage, summary, help string
	// misnamed maps names of flags that do not exist to advice for the user.
	misnamed map[string]string
	// define declares the flags and returns the function to run after they are parsed.
	define func(flags *flag.FlagSet) func(env *Env, args []string) error
}

func (c *command) run(env *Env, args []string) error {
	flags, do := c.flags()
	given := args
	args, err := parse(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		return write(env.Stdout, c.text())
	}
	if err != nil {
		return usagef("%s%s", asGiven(flagText(err), given), named(c.flagMeant(flags, err), given))
	}
	if slices.Contains(args, "") {
		return completef("the name of a file is empty: is a variable of the shell not set?")
	}
	return do(env, args)
}

// asGiven changes --flag to -flag in an error text if the user wrote the flag with one dash.
func asGiven(text string, args []string) string {
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if short, ok := strings.CutPrefix(name, "-"); ok && short != "" && short[0] != '-' {
			for _, end := range []string{"", ":"} {
				text = strings.ReplaceAll(text+" ", " --"+short+end+" ", " "+name+end+" ")
				text = strings.TrimSuffix(text, " ")
			}
		}
	}
	return text
}

// flagText returns the text of an error of package flag, in the words of this program and with
// flags as --flag.
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

// flagMeant returns advice for an error about a flag, as the end of a message. It returns "" if
// there is no advice.
func (c *command) flagMeant(flags *flag.FlagSet, err error) string {
	if bad := badValue.FindStringSubmatch(err.Error()); bad != nil {
		getter, _ := flags.Lookup(bad[1]).Value.(flag.Getter)
		value, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), `invalid value "`), `"`)
		switch getter.Get().(type) {
		case uint, uint64:
			if strings.HasPrefix(value, "-") {
				return ": must be 0 or more"
			}
		case time.Duration:
			if durations.MatchString(value) {
				return ": is too long"
			}
			return ": must be a duration with its unit, such as 30s or 10m"
		}
		return ": must be a whole number"
	}
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return ""
	}
	name = strings.TrimPrefix(name, "-")
	if text := c.misnamed[name]; text != "" {
		return text
	}
	if name == "f" && flags.Lookup("force") != nil {
		return ", did you mean --force?"
	}
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	switch near := confkeys.Nearest(names, name); len(near) {
	case 0:
	case 1:
		if !strings.HasPrefix(name, near) { // name is not this flag followed by its value, as in -n5
			return ""
		}
		return fmt.Sprintf(", did you mean -%s %s?", near, strings.TrimPrefix(name, near))
	default:
		return fmt.Sprintf(", did you mean --%s?", near)
	}
	return ""
}

// named replaces x.stef in the advice by the name of the output, if args has a flag such as -o with
// this name.
func named(advice string, args []string) string {
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok && i+1 < len(args) {
			value = args[i+1]
		}
		if name = strings.TrimLeft(name, "-"); name != arg && strings.HasSuffix(advice, misnamedOut) && outFlags[name] && value != "" && (value == "-" || value[0] != '-') {
			return strings.TrimSuffix(advice, "x.stef") + value
		}
	}
	return advice
}

// badValue matches the error of package flag for a value that is neither a number nor a
// duration.
var badValue = regexp.MustCompile(`for flag -(\S+): parse error$`)

// durations matches a duration with its unit.
var durations = regexp.MustCompile(`^-?([0-9.]+(ns|us|µs|ms|s|m|h))+$`)

func (c *command) flags() (*flag.FlagSet, func(*Env, []string) error) {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	return flags, c.define(flags)
}

// parse accepts flags before, between and after the other arguments. Everything after "--" is
// an argument.
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

// standardInput returns the end of the error for the missing argument name. If this argument
// may be "-", the text says that "-" is standard input.
func standardInput(name string) string {
	if name == "FILE" || name == "IN" {
		return "; - is standard input"
	}
	return ""
}

// oneFile checks the arguments of a command that reads exactly one file. The error for several
// files says how to read all of them: convert combines files, but only files of OpenTelemetry.
func (o *opener) oneFile(command string, args []string) error {
	switch {
	case len(args) < 2:
	case o.schema != "":
		return usagef("unexpected argument %q: expected only FILE; run stef %s once for each file", args[1], command)
	default:
		return usagef("unexpected argument %q: expected only FILE; stef convert FILE... all.stef combines files of one signal", args[1])
	}
	if err := files(args, "FILE"); err != nil {
		return err
	}
	return notFolder(args[0])
}

// notFolder refuses a folder as the only input of a command. The error of file.Open would suggest a
// pattern such as folder/*.stef. If the pattern matches two files, repair would use the second file
// as its output.
func notFolder(name string) error {
	if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
		return &file.Error{Name: name, Err: errors.New("is a folder; name one file in it")}
	}
	return nil
}

// files checks the number of non-flag arguments.
func files(args []string, names ...string) error {
	expected := "none"
	if len(names) > 0 {
		expected = "only " + strings.Join(names, " and ")
	}
	switch {
	case len(args) < len(names):
		return usagef("%s is missing%s", names[len(args)], standardInput(names[len(args)]))
	case len(args) > len(names):
		return usagef("unexpected argument %q: expected %s", args[len(names)], expected)
	}
	return nil
}
