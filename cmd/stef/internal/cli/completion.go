// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
)

var completionCommand = &command{
	name:    "completion",
	usage:   "completion bash|zsh|fish",
	summary: "print a script that completes command lines in a shell",
	help: `Prints a script for a shell that completes commands, flags, and the values of flags
that have a few:

  bash   source <(stef completion bash)
  zsh    source <(stef completion zsh)
  fish   stef completion fish | source
`,
}

// shells lists the shells for which there is a script.
var shells = []string{"bash", "zsh", "fish"}

// The script uses the list of commands, and the list contains completion: set define in
// init to avoid an initialization cycle.
func init() {
	completionCommand.define = func(*flag.FlagSet) func(*Env, []string) error {
		return func(env *Env, args []string) error {
			if err := files(args, "SHELL"); err != nil {
				return err
			}
			switch args[0] {
			case "bash":
				return write(env.Stdout, bashCompletion())
			case "zsh":
				return write(env.Stdout, "autoload -U +X bashcompinit && bashcompinit\n"+bashCompletion())
			case "fish":
				return write(env.Stdout, fishCompletion())
			}
			return usagef("%q is none of bash, zsh and fish", args[0])
		}
	}
}

// flagInfo describes a flag for completion.
type flagInfo struct {
	name   string
	values []string // the allowed values, if the set is fixed
	value  bool     // whether the flag has a value
	usage  string
}

func (c *command) completed() []flagInfo {
	var list []flagInfo
	flags, _ := c.flags()
	flags.VisitAll(func(f *flag.Flag) {
		name, value, usage := flagParts(f)
		info := flagInfo{name: name, value: value != ""}
		info.usage, _, _ = strings.Cut(usage, "\n")
		if strings.Contains(value, "|") {
			info.values = slices.DeleteFunc(strings.Split(value, "|"), func(v string) bool { return v == "N" })
		}
		switch f.Name {
		case "from":
			info.values = convert.Formats(false)
		case "to":
			info.values = convert.Formats(true)
		}
		list = append(list, info)
	})
	return list
}

// bashCompletion returns a script with a completion function for bash. The function decides by
// the second word of the command line, which is the command, and by the previous word.
func bashCompletion() string {
	var b strings.Builder
	b.WriteString("_stef() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n" +
		"  if [ \"$COMP_CWORD\" = 1 ]; then\n")
	all := strings.Join(commandNames(), " ")
	fmt.Fprintf(&b, "    words=\"%s\"\n  else\n    case \"${COMP_WORDS[1]} $before\" in\n", all)
	fmt.Fprintf(&b, "    \"completion completion\") words=\"%s\" ;;\n", strings.Join(shells, " "))
	fmt.Fprintf(&b, "    \"help help\") words=\"%s\" ;;\n", all)
	for _, c := range commands() {
		for _, f := range c.completed() {
			if f.values != nil {
				fmt.Fprintf(&b, "    \"%s %s\") words=\"%s\" ;;\n", c.name, f.name, strings.Join(f.values, " "))
			}
		}
	}
	b.WriteString("    *) if [[ $word == -* ]]; then\n      case ${COMP_WORDS[1]} in\n")
	for _, c := range commands() {
		var names []string
		for _, f := range c.completed() {
			names = append(names, f.name)
		}
		if names != nil {
			fmt.Fprintf(&b, "      %s) words=\"%s\" ;;\n", c.name, strings.Join(names, " "))
		}
	}
	b.WriteString("      esac\n    fi ;;\n    esac\n  fi\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n" +
		"complete -o default -F _stef stef\n")
	return b.String()
}

func fishCompletion() string {
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	var b strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&b, "complete -c stef -n __fish_use_subcommand -a %s -d %s\n", c.name, quote(c.summary))
		for _, f := range c.completed() {
			fmt.Fprintf(&b, "complete -c stef -n '__fish_seen_subcommand_from %s' ", c.name)
			if name, long := strings.CutPrefix(f.name, "--"); long {
				fmt.Fprintf(&b, "-l %s", name)
			} else {
				fmt.Fprintf(&b, "-s %s", strings.TrimPrefix(f.name, "-"))
			}
			switch {
			case f.values != nil:
				fmt.Fprintf(&b, " -x -a %s", quote(strings.Join(f.values, " ")))
			case f.value:
				b.WriteString(" -r")
			}
			fmt.Fprintf(&b, " -d %s\n", quote(f.usage))
		}
	}
	return b.String()
}
