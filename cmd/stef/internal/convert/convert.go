// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

// ErrUnsupported is a conversion that does not exist or that needs more flags. It
// is about the command line, not about a file.
var ErrUnsupported = errors.New("unsupported")

// unsupported is an error whose text is about the request alone.
type unsupported struct{ text string }

func (e *unsupported) Error() string        { return e.text }
func (e *unsupported) Is(target error) bool { return target == ErrUnsupported }

func refuse(format string, args ...any) error {
	return &unsupported{fmt.Sprintf(format, args...)}
}

// Options say what to convert to what. The zero value of most fields leaves the
// choice to the content, the names or the signal.
type Options struct {
	From, To Format
	// Root is the root of the records and so the signal; nil finds out.
	Root *stream.Root
	// OutName is the name of the output, to guess To and the compression by.
	OutName string
	// Mode is the order in which items are written into a stream.
	Mode Mode
	// Compression and Level are those of a stream.
	Compression stef.Compression
	Level       stef.Level
	// Schema is that of a stream.
	Schema Schema
	// StreamFlags are the flags given that mean something for streams only, as
	// they are called on the command line.
	StreamFlags []string
	// Skip leaves out items that cannot be converted, and counts them, instead
	// of ending with an error.
	Skip bool
}

// Result is what a conversion did.
type Result struct {
	From, To Format
	Root     *stream.Root
	// Items are data points, spans or log records.
	Items uint64
	// PartsIn and PartsOut are parts of OTLP or frames of STEF.
	PartsIn, PartsOut int
	// Skipped counts the items that were omitted, and Reasons are the first few of
	// the errors that say why.
	Skipped uint64
	Reasons []error
	// Others are the signals of the input that were skipped.
	Others []OtherSignal
	// Losses say what the schema of the output could not hold, in words.
	Losses []string
}

// OtherSignal says how many items of a signal were skipped.
type OtherSignal struct {
	Signal otlpfile.Signal
	Items  uint64
}

// maxReasons bounds Result.Reasons.
const maxReasons = 5

// skip counts items that cannot be converted. It returns the error if Options.Skip
// is not set.
func (r *Result) skip(o *Options, items uint64, err error) error {
	if !o.Skip {
		return err
	}
	r.Skipped += items
	if len(r.Reasons) < maxReasons {
		r.Reasons = append(r.Reasons, err)
	}
	return nil
}

// Run converts. Errors of files name the file; others are about the options.
func Run(in *file.Input, out io.Writer, o Options) (*Result, error) {
	if err := o.formats(in); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	packed := newPacker(out, o.OutName)
	var res *Result
	var err error
	switch {
	case o.From == STEF && o.To == STEF:
		res, err = recode(in, packed, &o)
	case o.From == STEF:
		res, err = decode(in, packed, &o)
	case o.To == STEF:
		res, err = encode(in, packed, &o)
	default:
		res, err = rewrite(in, packed, &o)
	}
	if err == nil {
		err = packed.Close()
	}
	if errors.Is(err, ErrUnsupported) {
		return nil, err
	}
	if err != nil {
		return nil, in.Blame(err)
	}
	return res, nil
}

// Guess returns the format of the input: From, or what its content says.
func (o *Options) Guess(in *file.Input) (Format, error) {
	if o.From != Unknown {
		return o.From, nil
	}
	head, err := in.Peek(peeked)
	if err != nil {
		return Unknown, in.Blame(err)
	}
	f := guessInput(in.ContentName(), head)
	if f == Unknown {
		return Unknown, &file.ContentError{Name: in.Name, Err: errors.New("the content begins like none of " + FormatNames)}
	}
	return f, nil
}

// formats fills in the formats by content and names.
func (o *Options) formats(in *file.Input) error {
	var err error
	if o.From, err = o.Guess(in); err != nil {
		return err
	}
	return o.output()
}

// output fills in the format of the output by its name.
func (o *Options) output() error {
	if o.To == Unknown {
		o.To = formatOfName(o.OutName)
	}
	if o.To != Unknown {
		return nil
	}
	if strings.HasSuffix(unpackedName(o.OutName), ".otlp") {
		return refuse("the name %s does not tell the format: say --to otlp-parts or --to otlp", o.OutName)
	}
	if o.From == STEF {
		return refuse("nothing tells what to convert to: say --to %s", FormatNames)
	}
	if o.OutName != "" && o.OutName != "-" {
		return refuse("the name %s does not tell the format: say --to %s, or end the name in .stef, .parts, .pb or .json", o.OutName, FormatNames)
	}
	o.To = STEF
	return nil
}

// check refuses what would have no effect.
func (o *Options) check() error {
	if o.To != STEF && len(o.StreamFlags) > 0 {
		return refuse("%s is for an output of format stef, and this is %s", o.StreamFlags[0], o.To)
	}
	if o.From == STEF && o.Mode != DefaultMode {
		return refuse("--mode is for OTLP: from stef to stef records keep their order")
	}
	return nil
}

// Schema is the schema of a stream.
type Schema uint8

// The schemas.
const (
	// Compact is the full schema in the compact form. It is the default.
	Compact Schema = iota
	// Full is the schema of records.
	Full
	// Reference is the published schema, which the reference implementation reads.
	Reference
)
