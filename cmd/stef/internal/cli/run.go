// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
)

// The exit codes of the program.
const (
	ExitDone        = 0
	ExitData        = 1   // the content of a file is bad
	ExitUsage       = 2   // the command line is wrong, or does not fit a file
	ExitIO          = 3   // a file cannot be read or written, or an endpoint cannot be reached or refuses the client
	ExitLost        = 4   // the command did its work, and a part of the input is lost: repair, convert --skip, replay
	ExitInterrupted = 130 // the code that a shell reports for an interrupt
)

// Env is the environment of a command, apart from its arguments.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Temps has the temporary files to remove when the process ends.
	Temps *file.Temps
	// Terminal says that Stderr is a terminal, which can show progress bars.
	Terminal bool

	// Screen says that Stdout is a terminal, which binary output would garble.
	Screen bool

	// Interrupt delivers an interrupt of the process to a command that can end gracefully. nil
	// means that there are no interrupts.
	Interrupt *Interrupt

	// progressAfter is the time after which a command shows progress.
	progressAfter time.Duration
}

// Run runs a command line, without the program name, and returns the exit code.
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
		meant := didYouMean(name)
		if exists(name) {
			meant = ", did you mean stef stat " + name + "?"
		}
		fmt.Fprintf(env.Stderr, "stef: there is no command %q%s; stef help lists them\n", name, meant)
		return ExitUsage
	}
	return env.report(c, c.run(&env, args))
}

// report prints an error and returns its exit code.
func (env *Env) report(c *command, err error) int {
	if err == nil {
		return ExitDone
	}
	if errors.Is(err, errLost) {
		return ExitLost // the command has printed what is lost
	}
	var usage *usageError
	var failed *file.Error
	var mixed *convert.MixedError
	if errors.As(err, &failed) && errors.Is(failed.Err, syscall.EPIPE) {
		return ExitIO // the reader of a pipe, such as head, has ended: print no error
	}
	all, ok := err.(allErrors)
	if !ok {
		all = allErrors{err}
	}
	for _, e := range all {
		fmt.Fprintf(env.Stderr, "stef %s: %s\n", c.name, message(e))
	}
	switch {
	case errors.As(err, &usage) && usage.complete, errors.Is(err, convert.ErrUnsupported), errors.Is(err, convert.ErrMisfit), errors.As(err, &mixed):
		return ExitUsage
	case errors.As(err, &usage):
		fmt.Fprintf(env.Stderr, "usage: stef %s\nstef help %s tells more\n", c.usage, c.name)
		return ExitUsage
	case errors.As(err, &failed):
		return ExitIO
	case errors.Is(err, errInterrupted):
		return ExitInterrupted
	}
	return ExitData
}

// allErrors are errors of several files, which are reported together.
type allErrors []error

func (all allErrors) Error() string   { return errors.Join(all...).Error() }
func (all allErrors) Unwrap() []error { return all }

// ownRecords is an error about records of the user's schema. flags are the flags that other
// commands need to read them.
type ownRecords struct {
	error
	flags string
}

// Unwrap returns the error without the flags.
func (e *ownRecords) Unwrap() error { return e.error }

// plainText returns the text of an error for users of the program. It removes the names of Go
// packages, and rewrites the positions in errors of package dynamic.
func plainText(err error) string {
	text := err.Error()
	for _, name := range []string{"otlpfile: ", "stefpdata: ", "stef: ", "annotate: ", "lake: ", "signal: "} {
		text = strings.ReplaceAll(text, ": "+name, ": ")
		text = strings.TrimPrefix(text, name)
	}
	text = frameLast.ReplaceAllString(text, "frame $2 at offset $1")
	text = cutFrame.ReplaceAllString(text, "$1: the stream ends inside it: ")
	return cutHeaders.ReplaceAllString(text, "$1: the stream ends inside its headers: unexpected EOF")
}

// message is the text of an error for users of the program.
func message(err error) string {
	text, _ := truncationText(err, plainText(err))
	if errors.Is(err, stef.ErrZstdDict) || errors.Is(err, dynamic.ErrZstdDict) {
		text, _, _ = strings.Cut(text, ": pass the dictionary of the writer")
		text += "; use stef convert --dictionary FILE, with the file that the sender sets as dictionary in its extension stef_encoding"
	}
	if at := secondStream.FindStringSubmatch(text); at != nil {
		end, _ := strconv.ParseInt(at[2], 10, 64)
		unpack := ""
		if bad := (*file.ContentError)(nil); errors.As(err, &bad) && bad.Packed != "" { // the offset counts decompressed bytes
			unpack = fmt.Sprintf("%s -dc %s | ", bad.Packed, file.Quoted(bad.Name))
		}
		then := "stef convert A B OUT, with {signal} in OUT if their signals differ"
		if own := (*ownRecords)(nil); errors.As(err, &own) { // stef convert reads records of OpenTelemetry only
			then = fmt.Sprintf("stef cat%s A B; keep them apart, because stef convert combines only streams of OpenTelemetry", own.flags)
		}
		text = strings.Replace(text, at[0], fmt.Sprintf("%s: another stream begins here, so files were concatenated: "+
			"split this file (A is the output of %shead -c %d, B is that of %stail -c +%d; split B again if it has more streams), then run %s",
			at[1], unpack, end, unpack, end+1, then), 1)
	}
	return text
}

// truncationText rewrites the error text of a compressed file that is cut exactly after a frame, part or
// message. Readers report the error in the next frame, part or message, although the file has no
// byte of it. onlyEnd says that all blocks are whole, so that only the end of the file is
// missing.
func truncationText(err error, text string) (_ string, onlyEnd bool) {
	var bad *file.ContentError
	if !errors.As(err, &bad) || bad.Packed == "" || !errors.Is(err, io.ErrUnexpectedEOF) {
		return text, false
	}
	at := nextPart.FindStringSubmatch(text)
	if at == nil {
		return text, false
	}
	noun, number, offset := at[1]+at[5]+at[7], at[2]+at[6]+at[8], at[3]+at[4]+at[9]
	if offset != strconv.FormatInt(bad.Read, 10) {
		return text, false
	}
	next, _ := strconv.Atoi(number)
	if next < 2 {
		return text, false
	}
	text = strings.Replace(text, at[0], fmt.Sprintf("the compressed file %s after %s %d: %s", noEnd[bad.WholeBlocks][0], noun, next-1, noEnd[bad.WholeBlocks][1]), 1)
	text = strings.Replace(text, "the whole "+noun+"s before it", "the whole "+noun+"s", 1)
	return strings.Replace(text, convert.BeginConverted, "; all whole "+noun+"s were converted", 1), bad.WholeBlocks
}

// noEnd describes a compressed file without an end: what is wrong, and why. The key says whether all
// its blocks are whole.
var noEnd = map[bool][2]string{
	true:  {"has no end", "its writer was killed, or what followed is lost"},
	false: {"is cut inside a block", "the content of this block is lost"},
}

// Errors of package dynamic differ from errors of package stef: the offset precedes the
// frame, and the error of a cut stream names the part of a frame in which the stream ends.
// plainText and truncationText rewrite such errors with these patterns.
var (
	frameLast = regexp.MustCompile(`offset (\d+), frame (\d+)`)
	nextPart  = regexp.MustCompile(`(frame) (\d+) at offset (\d+): (?:corrupt stream: the stream ends inside it|zstd|gzip): unexpected EOF` +
		`|offset (\d+) of the decompressed content, (message) (\d+): corrupt stream: the file ends within the length of a message` +
		`|otlp[-a-z]* (?:[a-z]+ )?(part|message) (\d+),(?: line \d+,)? byte (\d+) of the decompressed content: (?:zstd|gzip): unexpected EOF`)
	cutHeaders = regexp.MustCompile(`(offset \d+: corrupt stream): (?:signature|(?:size of the )?fixed header|before the variable header|frame header|(?:un)?compressed size|content of a frame): unexpected EOF`)
	cutFrame   = regexp.MustCompile(`(frame \d+ at offset \d+: corrupt stream): (?:frame header|(?:un)?compressed size|content of a frame): `)
)

// secondStream is the error of a stream that follows another stream in a file: its first
// byte, S, is read as the flags of a frame.
var secondStream = regexp.MustCompile(`(offset (\d+)[^:]*): corrupt stream: unknown bits in the frame flags 0x53` +
	`(: a second stream may begin here, but a file holds one stream)?(; stef repair[^;]* copies the whole frames before it)?`)
