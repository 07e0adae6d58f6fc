// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
)

// maxSchema bounds the size of a schema file, like the limit of the compiler.
const maxSchema = idl.MaxSourceBytes

// The maximum values of --memory-mib and --depth, as in stef.Limits.
const (
	maxMemoryMiB = min(1<<20, math.MaxInt>>20)
	maxDepth     = 100_000
)

// opener opens the streams of a command. Its flags describe their content.
type opener struct {
	root   string
	signal *stream.Root
	schema string
	base   baseFlag
	memory uint
	depth  uint
	// otlp makes the opener accept files of other formats, too: OTLP, Parquet, Arrow and
	// stef-parts. It converts them to the stream that stef convert would write.
	otlp bool
	// onlySTEF says what to do with files of other formats, if the command reads
	// only streams.
	onlySTEF string
	// repairs says that the command is repair.
	repairs bool
	// several says that the command has several files. Then the opener refuses every empty file,
	// and the command leaves it out.
	several bool

	roots stream.List
	only  *stream.Root
	// announced has the roots of --base for which the opener has printed a warning: a file
	// announces its schema, so --base has no effect. The warning is printed once for each root.
	announced map[string]bool
}

func (o *opener) define(flags *flag.FlagSet) {
	flags.StringVar(&o.root, "root", "", "`metrics|spans|logs` the kind of records in a stream, or the name of a root struct of --schema\n"+
		"(default: detected from the schema that the stream announces, else from its\n"+
		"user data, else by decoding its first frame)")
	flags.StringVar(&o.schema, "schema", "", "`FILE.stef` the schema of the records, if they are not of OpenTelemetry")
	o.base = baseFlag{}
	flags.Var(o.base, "base", "`ROOT=N,N` for a stream that announces no schema: how many fields each struct of --schema\n"+
		"had when the stream was written, as stefc -numbers prints them (default: all fields)")
	flags.UintVar(&o.memory, "memory-mib", uint(stream.DefaultLimits.MemoryBytes>>20), "`N` limit in MiB for the memory of one record, and for that of all dictionaries together\n"+
		fmt.Sprintf("(default: %d)", stream.DefaultLimits.MemoryBytes>>20))
	flags.UintVar(&o.depth, "depth", uint(stream.DefaultLimits.Depth), "`N` how deep values may be nested, at most 100000 "+fmt.Sprintf("(default: %d)", stream.DefaultLimits.Depth))
	if o.otlp {
		signalFlag(flags, "the same as --root; for a file of several signals, the signal to read", &o.signal)
	}
}

// prepare validates the flags and loads the files that they name.
func (o *opener) prepare() error {
	o.roots = stream.Roots()
	if o.schema != "" {
		var err error
		if o.roots, err = o.loadRoots(); err != nil {
			return err
		}
	} else if len(o.base) > 0 {
		return usagef("--base needs --schema FILE.stef")
	}
	if o.memory < 1 || o.memory > maxMemoryMiB {
		return usagef("--memory-mib is %d, not between 1 and %d", o.memory, maxMemoryMiB)
	}
	if o.depth < 1 || o.depth > maxDepth {
		return usagef("--depth is %d, not between 1 and %d", o.depth, maxDepth)
	}
	if l := (stream.Limits{MemoryBytes: int(o.memory) << 20, Depth: int(o.depth)}); l != stream.DefaultLimits {
		o.roots = o.roots.WithLimits(l)
	}
	if o.signal != nil && o.schema != "" {
		return usagef("--signal is for records of OpenTelemetry: with --schema, use --root instead")
	}
	if o.root == "" {
		if o.signal != nil {
			o.only, _ = o.roots.Parse(o.signal.Name)
		}
		return nil
	}
	var err error
	if o.only, err = o.roots.Parse(o.root); err != nil {
		if o.schema == "" {
			err = fmt.Errorf("%w; roots of your own need --schema FILE.stef", err)
		}
		return usagef("invalid value %q for --root: %v", o.root, err)
	}
	if o.signal != nil && o.signal.Name != o.only.Name {
		return contradict(o.only, o.signal)
	}
	return nil
}

// rootFlag returns the flag with which the user names the kind of records.
func (o *opener) rootFlag() string {
	if o.root == "" {
		return "--signal"
	}
	return "--root"
}

func readSchema(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, &file.Error{Name: name, Err: err}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSchema+1))
	if err != nil {
		return nil, &file.Error{Name: name, Err: err}
	}
	return text, nil
}

// opened is an open stream. Close it after use, and pass its read errors to explainError.
type opened struct {
	*file.Input
	root *stream.Root
	src  io.Reader
	o    *opener
	// framed says that the file has format stef-parts, and that the command reads its
	// messages one by one.
	framed bool
	// head contains the headers of a stream that is read with --schema. It is nil if they
	// cannot be read.
	head *dynamic.Header
	// other is the only root of --schema that fits the stream, if this root is not --root.
	// If several roots or no other roots fit, other is nil.
	other *stream.Root
	// converted is the conversion of a file of another format; src is then its output.
	converted *conversionOf
}

// conversionOf is a conversion that runs while its output is read.
type conversionOf struct {
	out  *io.PipeReader
	done chan struct{}
	res  *convert.Result
	err  error
}

// open opens a stream. Call prepare first.
func (o *opener) open(env *Env, name string, options convert.Options) (*opened, error) {
	in, err := file.Open(name, env.Stdin)
	if err != nil {
		return nil, err
	}
	s := &opened{Input: in, src: in, o: o, root: o.only}
	if err := s.begin(options); err != nil {
		err = s.explainError(err)
		s.Close()
		return nil, err
	}
	s.unusedBase(env.Stderr)
	return s, nil
}

func (s *opened) begin(options convert.Options) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.o.schema != "" {
		s.head, s.src = stream.Head(s.src)
	}
	if s.o.otlp && s.o.schema == "" {
		format, err := options.Guess(s.Input)
		if err != nil {
			return err
		}
		if format != convert.STEF {
			s.convert(options)
		}
	}
	if !s.o.otlp {
		format, err := options.Guess(s.Input)
		s.framed = err == nil && format == convert.STEFParts
	}
	if s.root != nil && !s.framed && s.converted == nil && s.o.schema == "" {
		var other *stream.Root
		if other, s.src = s.o.roots.Other(s.src, s.root); other != nil {
			return convert.OtherSignal(other.Signal.String(), s.root.Signal, s.o.rootFlag())
		}
	}
	if s.root != nil && s.o.schema != "" && (s.head == nil || s.head.Wire == nil) {
		s.other, s.src = s.o.roots.Other(s.src, s.root)
	}
	if s.root != nil || s.framed {
		return nil
	}
	var err error
	s.root, s.src, err = s.o.roots.Recognise(s.src)
	return err
}

// convert converts a file of another format to a stream while the stream is read.
func (s *opened) convert(options convert.Options) {
	options.To = convert.STEF
	if s.root != nil {
		options.Root, options.RootFlag = stream.RootOf(s.root.Signal), s.o.rootFlag()
	}
	r, w := io.Pipe()
	c := &conversionOf{out: r, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.res, c.err = convert.Run(s.Input, w, options)
		w.CloseWithError(c.err)
	}()
	s.converted, s.src = c, r
}

// errStopped ends a conversion, or the reading of messages, when no more records are needed.
var errStopped = errors.New("the command needs no more records")

// explainError adds the file name to a read error. If the schema may be wrong, explainError
// says what to do.
func (s *opened) explainError(err error) error {
	if c := s.converted; c != nil && err != nil {
		c.out.CloseWithError(errStopped)
		if <-c.done; c.err != nil && !errors.Is(c.err, errStopped) {
			var mixed *convert.MixedError
			if errors.As(c.err, &mixed) {
				mixed.Advice = "--signal metrics, traces or logs reads only these"
				return s.Blame(mixed)
			}
			return c.err
		}
	}
	if err == nil {
		return nil
	}
	explained := s.explain(err)
	if explained == err && !s.o.repairs {
		explained = s.o.repairable(err)
	}
	if flags := s.o.repeated(); flags != "" {
		explained = &ownRecords{explained, flags}
	}
	return s.Blame(explained)
}

// repairable extends an error about a stream. If there are whole frames before the damage, the text
// names the stef repair command that copies these frames.
func (o *opener) repairable(err error) error {
	var at *dynamic.Error
	if !errors.As(err, &at) || at.Frame < 2 || !errors.Is(err, dynamic.ErrCorrupt) && !errors.As(err, new(*file.UnpackError)) {
		return err
	}
	return fmt.Errorf("%w; stef repair%s copies the whole frames before it", err, o.repeated())
}

// Close ends the reading. It waits for the conversion, except if the input is a pipe: a read of a
// pipe can block for any time. In this case, the conversion ends when the process ends.
func (s *opened) Close() {
	if c := s.converted; c != nil {
		c.out.CloseWithError(errStopped)
		if s.Size < 0 {
			select {
			case <-c.done:
			default:
				return
			}
		}
		<-c.done
	}
	s.Input.Close()
}

// summary returns the result of the conversion, or nil if the input is a stream.
func (s *opened) summary() *convert.Result {
	if s.converted == nil {
		return nil
	}
	<-s.converted.done
	return s.converted.res
}

// exists reports whether a regular file with a name exists.
func exists(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
