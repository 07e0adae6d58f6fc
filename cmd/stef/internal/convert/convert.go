// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/messages"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/lake"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
)

// ErrUnsupported is the error of a conversion that does not exist or that needs
// more flags. It is about the command line, not about a file.
var ErrUnsupported = errors.New("unsupported")

// unsupported is an ErrUnsupported with a text of its own.
type unsupported struct{ text string }

func (e *unsupported) Error() string        { return e.text }
func (e *unsupported) Is(target error) bool { return target == ErrUnsupported }

func refuse(format string, args ...any) error {
	return &unsupported{fmt.Sprintf(format, args...)}
}

// ErrMisfit is the error of a flag that does not fit a file. The file may be undamaged.
var ErrMisfit = errors.New("the command line does not fit the file")

// ErrOtherSignal is a kind of ErrMisfit: the input has no items of the signal that the flags
// name.
var ErrOtherSignal = errors.New("other signal")

// misfit is an ErrMisfit that has the text of its cause.
type misfit struct{ error }

func (e misfit) Unwrap() error        { return e.error }
func (e misfit) Is(target error) bool { return target == ErrMisfit }

// Misfit is like fmt.Errorf. The error that it returns is also ErrMisfit.
func Misfit(format string, args ...any) error { return misfit{fmt.Errorf(format, args...)} }

// OtherSignalError is an ErrOtherSignal.
type OtherSignalError struct {
	text   string // what the input contains
	Advice string // what to do
}

func (e *OtherSignalError) Error() string { return e.text + ": " + e.Advice }
func (e *OtherSignalError) Is(target error) bool {
	return target == ErrMisfit || target == ErrOtherSignal
}

// OtherSignal returns the OtherSignalError of an input that contains found, although flag
// names the signal wanted.
func OtherSignal(found string, wanted otlpfile.Signal, flag string) error {
	return &OtherSignalError{fmt.Sprintf("it holds %s, not %s", found, wanted), otherFlag(found, flag)}
}

// otherFlag says what to do about a flag that names a signal that the input does not have.
func otherFlag(found, flag string) string {
	if first, second, ok := strings.Cut(found, " and "); ok {
		return fmt.Sprintf("use --signal %s or --signal %s", first, second)
	}
	return "leave " + cmp.Or(flag, "--signal") + " out"
}

// Options say what to convert and to which format. For most fields, the zero
// value means that the content, the names or the signal decide.
type Options struct {
	From, To Format
	// Root is the root of the records and implies the signal; nil detects it. RootFlag is
	// the flag that named the root.
	Root     *stream.Root
	RootFlag string
	// OutName is the name of the output. It is used to guess To and the
	// compression.
	OutName string
	// Mode is the order in which items are written into a stream.
	Mode Mode
	// Compression and Level apply to the output stream.
	Compression stef.Compression
	Level       stef.Level
	// Checksums adds a checksum to each frame of the output stream.
	Checksums bool
	// FrameItems is the maximum number of items of a frame that combines several parts of the
	// input; 0 combines no parts.
	FrameItems int
	// Schema is the schema of the output stream.
	Schema Schema
	// StreamFlags are the given flags that apply to streams only, as they are
	// spelled on the command line.
	StreamFlags []string
	// Columns are the keys of attributes that have columns of their own in a table.
	Columns []string
	// Dictionaries are the shared dictionaries that frames of an input stream may use.
	Dictionaries []*stef.ZstdDict
	// Skip omits and counts items that cannot be converted, instead of
	// returning an error.
	Skip bool
	// WholeMessages converts a file of format stef-parts that is cut, up to its last whole message.
	// Result.Files then has the error.
	WholeMessages bool
	// Requests makes a conversion between OTLP and a stream measure the sizes of the OTLP requests.
	Requests bool

	likely  otlpfile.Signal // likely signal of the content, if it differs from Root
	several bool            // whether there are several inputs
	command string          // name of the command in messages; "" is convert
	input   *file.Input     // the only input, if there is one
	items   int             // number of items that were read before an error
	looks   Format          // likely format of the content, if it differs from From
}

// Result describes a finished conversion.
type Result struct {
	From, To Format
	Root     *stream.Root
	// Items are data points, spans or log records.
	Items uint64
	// PartsIn and PartsOut count OTLP parts, STEF frames, batches of Arrow or row groups of
	// Parquet.
	PartsIn, PartsOut int
	// Large counts the parts of the input with more than Options.FrameItems items, which became
	// frames of their own.
	Large int
	// Skipped counts the omitted items, and Reasons are the first few errors
	// that explain why.
	Skipped uint64
	Reasons []error
	// Others are the signals of the input that were skipped.
	Others []SkippedSignal
	// RootFlag is the flag that excluded the other signals.
	RootFlag string
	// Ignored are fields of JSON that OTLP does not have.
	Ignored []otlpfile.UnknownField
	// FromOTLP counts the items that were read from the column otlp of a table.
	FromOTLP uint64
	// Edited counts the items of FromOTLP whose other columns were edited. The edits
	// have no effect.
	Edited uint64
	// Retyped counts the values of a table that became text, because their text does not
	// fit their type.
	Retyped uint64
	// InOTLP counts the items of an output table that are in its column otlp, too.
	InOTLP uint64
	// EmptyColumns are the keys of Options.Columns that no item has.
	EmptyColumns []EmptyColumn
	// Losses describe what the schema of the output could not represent.
	Losses []string
	// Files are notes about inputs that have no content or were read only in part.
	Files []error
	// Requests holds the sizes of the OTLP requests. It is nil if Options.Requests is not set, or
	// if the conversion is not between OTLP and a stream.
	Requests *Requests

	unknown uint64 // number of protobuf fields of the input that pdata does not know
}

// EmptyColumn is a column of Options.Columns without a value.
type EmptyColumn = lake.EmptyColumn

// measure starts the measurement of requests if the options ask for it.
func (r *Result) measure(o *Options) (err error) {
	if o.Requests && r.Requests == nil {
		r.Requests, err = NewRequests()
	}
	return err
}

// SkippedSignal counts the skipped items of a signal.
type SkippedSignal struct {
	Signal otlpfile.Signal
	Items  uint64
}

// cut handles err if the input is cut or its compression is damaged. It returns true if the conversion succeeds without the
// rest: Skip or WholeMessages is set, and the input has items before the cut. In this case it
// records err in Files. WholeMessages does not cover damaged compression.
func (r *Result) cut(o *Options, err error, items uint64) bool {
	messages := o.WholeMessages && o.From == STEFParts
	if err == nil || !(o.Skip || messages) || items == 0 {
		return false
	}
	end, ok, err := lostEnd(o.input, err)
	if !ok || end != BeginConverted && !o.Skip {
		return false
	}
	if whole, ok := wholeBytes(err); ok {
		o.input.Keep(whole)
	}
	if messages {
		err = recoverable(o, err)
	} else {
		err = fmt.Errorf("%w%s", err, end)
	}
	r.Files = append(r.Files, o.input.Blame(err))
	return true
}

// isCut reports whether an error is about a file that ends too early, and not about damage inside it.
func isCut(err error) bool {
	if at := (*otlpfile.Error)(nil); errors.As(err, &at) {
		return at.Cut
	}
	// A stream that ends too early inside of a message is damaged: the messages after it may be whole.
	if at := (*messageError)(nil); errors.As(err, &at) {
		return errors.As(err, new(*cutError))
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// lostEnd reports whether an error means that the end of the input is lost: the input is cut, or its
// compression is damaged. It extends the error, and returns the end of the note about it. A decompressor can
// return wrong bytes before it finds the damage. So if content is damaged, lostEnd reads the rest of the input.
func lostEnd(in *file.Input, err error) (end string, ok bool, damage error) {
	switch {
	case isCut(err):
		return BeginConverted, true, err
	case errors.As(err, new(*file.TrailingError)):
		return BeforeTrailing, true, err
	case file.Damage(err) != nil:
		return BeforeDamage, true, err
	}
	if !errors.Is(err, otlpfile.ErrCorrupt) && !errors.Is(err, stef.ErrCorrupt) && !errors.Is(err, lake.ErrCorrupt) &&
		!errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, new(*messages.LengthError)) {
		return "", false, err
	}
	rest := in.Rest()
	if rest == nil || errors.As(rest, new(*file.TrailingError)) {
		return "", false, err
	}
	return BeforeDamage, true, fmt.Errorf("%w; the compression is damaged, too: %w", err, rest)
}

// wholeBytes returns how many bytes of an input are before the part, message or frame that is cut.
// ok is false if the error does not contain this number.
func wholeBytes(err error) (n int64, ok bool) {
	if at := (*otlpfile.Error)(nil); errors.As(err, &at) {
		return at.Offset, true
	}
	if at := (*cutError)(nil); errors.As(err, &at) {
		return at.whole, true
	}
	if at := (*stef.FormatError)(nil); errors.As(err, &at) {
		return at.Offset, true
	}
	return 0, false
}

// wholeFrames returns the number of whole frames of a stream. begun is the number of frames that
// the reader began, and err is the error that ended the reader.
func wholeFrames(begun int, err error) int {
	if at := (*stef.FormatError)(nil); errors.As(err, &at) {
		return min(begun, at.Frame-1)
	}
	return begun
}

// maxReasons bounds Result.Reasons.
const maxReasons = 5

// skip counts an item that cannot be converted. It returns the error if
// Options.Skip is not set.
func (r *Result) skip(o *Options, items uint64, err error) error {
	if !o.Skip {
		return fmt.Errorf("%w; stef convert --skip omits such items and counts them", err)
	}
	r.Skipped += items
	if len(r.Reasons) < maxReasons {
		r.Reasons = append(r.Reasons, err)
	}
	return nil
}

// Run converts one input. Errors about files name the file; other errors are about the options.
func Run(in *file.Input, out io.Writer, o Options) (*Result, error) {
	if err := o.formats(in); err != nil {
		return nil, err
	}
	o.input = in
	if o.inBatches() {
		return runAll(func(i int) (*file.Input, bool, error) { return in, i == 0, nil }, out, o, false)
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
		return nil, in.Blame(brokenLine(in, advised(&o, err)))
	}
	return res, nil
}

// advised adds advice to an error if it knows what the user can do.
func advised(o *Options, err error) error {
	if o.looks != Unknown {
		return Misfit("%w; the file looks like %s: leave --from out", err, o.looks)
	}
	if at := (*otlpfile.Error)(nil); errors.As(err, &at) && errors.Is(err, otlpfile.ErrSignal) && !errors.Is(err, otlpfile.ErrProfiles) && o.Root != nil {
		return OtherSignal(strings.TrimPrefix(at.Err.Error(), otlpfile.ErrSignal.Error()+": it holds "), o.Root.Signal, o.RootFlag)
	}
	if o.likely != otlpfile.SignalUnknown && errors.Is(err, otlpfile.ErrCorrupt) {
		return Misfit("%w; it looks like %s: leave %s out", err, o.likely, cmp.Or(o.RootFlag, "--signal"))
	}
	if o.Skip && isCut(err) {
		return fmt.Errorf("%w; nothing before the cut is complete, so --skip has nothing to convert", err)
	}
	if o.Skip && o.From.otlp() && (errors.Is(err, otlpfile.ErrCorrupt) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return fmt.Errorf("%w; --skip omits items that cannot be converted, not damaged %s", err, partNouns(o.From))
	}
	misfit := errors.Is(err, dynamic.ErrSchema) || errors.Is(err, stream.ErrRoot) || errors.Is(err, stef.ErrSchema)
	if o.From == STEF && o.Root == nil && misfit {
		return fmt.Errorf("%s knows records of OpenTelemetry only; print records of your own with stef cat --schema FILE.stef: %w", cmp.Or(o.command, "convert"), err)
	}
	if o.From == STEF && misfit {
		return fmt.Errorf("%w; if the stream does not hold %s, name its records with --root or --signal", err, o.Root.Name)
	}
	return recoverable(o, err)
}

// brokenLine extends an error about one line of JSON by a command that removes this line.
func brokenLine(in *file.Input, err error) error {
	var at *otlpfile.Error
	if !errors.As(err, &at) || at.OneLine == 0 || in.Packed != "" || in.Size < 0 {
		return err
	}
	return fmt.Errorf("%w; sed %dd %s removes the line and all its items", err, at.OneLine, file.Quoted(in.Name))
}

// recoverable adds advice to an error if a part of the input can be recovered: stef repair
// copies the frames before the damage, and --skip converts the data before a cut.
func recoverable(o *Options, err error) error {
	if at := (*stef.FormatError)(nil); o.From == STEF && errors.As(err, &at) && at.Frame > 1 {
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF), file.Damage(err) != nil:
			return fmt.Errorf("%w; stef repair copies the whole frames before it, and stef convert --skip converts them", err)
		case errors.Is(err, stef.ErrCorrupt), errors.As(err, new(*file.UnpackError)):
			return fmt.Errorf("%w; stef repair copies the whole frames before it", err)
		}
	}
	if at := (*messageError)(nil); errors.As(err, &at) && at.whole > 0 && (errors.Is(err, stef.ErrCorrupt) || errors.As(err, new(*messages.LengthError))) {
		if o.command == "" && isCut(err) {
			return fmt.Errorf("%w; stef repair copies the whole messages before it, and stef convert --skip converts them", err)
		}
		return fmt.Errorf("%w; stef repair copies the whole messages before it", err)
	}
	if o.From == Arrow && o.items > 0 && isCut(err) {
		return fmt.Errorf("%w; stef convert --skip converts the whole batches before it", err)
	}
	// An error with a line number is about one message, and the messages after it are whole.
	if at := (*otlpfile.Error)(nil); o.From.otlp() && errors.As(err, &at) && (at.Cut || file.Damage(err) != nil) && at.Part > 1 && at.OneLine == 0 {
		return fmt.Errorf("%w; stef convert --skip converts the whole %s before it", err, partNouns(o.From))
	}
	return err
}

// Guess returns the format of the input: From, or the format of its content.
func (o *Options) Guess(in *file.Input) (Format, error) {
	head, err := in.Peek(peeked)
	f := guessInput(in.ContentName(), head)
	if empty, as := in.Empty(), cmp.Or(o.From, f); empty != nil && !as.allowsEmpty(head) {
		if as == Unknown && o.Root != nil && !o.several && len(head) == 0 && !HasFormat(in.ContentName()) {
			empty = fmt.Errorf("%w; --from otlp-json accepts it as a file without items", empty)
		}
		return Unknown, &file.ContentError{Name: in.Name, Err: empty}
	}
	if o.From != Unknown {
		o.looks = Unknown
		if f != o.From && len(head) > 0 {
			o.looks = f
		}
		return o.From, nil
	}
	if err != nil {
		if !o.several { // the note about one of several inputs says what was converted
			err = unpackMore(in, err)
		}
		return Unknown, in.Blame(err)
	}
	if f == OTLPJSON && isRecord(head) {
		return Unknown, &file.ContentError{Name: in.Name, Err: errors.New("these are records printed by stef cat, which no command reads: use the file that stef cat read")}
	}
	if f == Unknown {
		if IsSchema(head) {
			return Unknown, &file.ContentError{Name: in.Name, Err: Misfit("it is a schema, not a stream; stef cat --schema %s FILE prints records of this schema", in.Name)}
		}
		if inner := file.PackedHead(head); inner != "" && in.Packed != "" {
			return Unknown, &file.ContentError{Name: in.Name, Err: fmt.Errorf("it is compressed twice (%s inside of %s): decompress one layer, such as %s -dc FILE | stef convert - OUT", inner, in.Packed, in.Packed)}
		}
		return Unknown, &file.ContentError{Name: in.Name, Err: fmt.Errorf("the content has none of the formats %s; %s", FormatNames, file.DescribeUnknown(head))}
	}
	return f, nil
}

// IsSchema reports whether a file begins as a schema: with its package, after comments.
func IsSchema(head []byte) bool {
	for line := range strings.Lines(string(head)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			return strings.HasPrefix(line, "package ")
		}
	}
	return false
}

// unpackMore extends the error of a compressed file that is cut in its first block. This tool returns
// no byte of an incomplete block.
func unpackMore(in *file.Input, err error) error {
	if in.Packed == "" || in.Each || in.Size < 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	command := "stef convert --skip"
	if formatOfName(in.ContentName()) == STEF {
		command = "stef repair"
	}
	return fmt.Errorf("%w; the file is cut; %s may return more of the file: %s -dc %s | %s - OUT", err, in.Packed, in.Packed, in.Name, command)
}

// formats sets the formats from content and names.
func (o *Options) formats(in *file.Input) error {
	var err error
	if o.From, err = o.Guess(in); err != nil {
		return err
	}
	return o.formatOut()
}

// formatOut sets the format of the output, and refuses options that do not fit it.
func (o *Options) formatOut() error {
	if err := o.output(); err != nil {
		return err
	}
	return o.check()
}

// output sets the format of the output from its name.
func (o *Options) output() error {
	if o.To == Unknown {
		o.To = formatOfName(o.OutName)
	}
	if o.To != Unknown {
		return nil
	}
	if err := notWritten(o.OutName, ""); err != nil {
		return err
	}
	if o.OutName != "" && o.OutName != "-" {
		return refuse("cannot tell the format from the name %s: add --to %s, or end the name in .stef, .parquet, .arrow, .otlp, .pb or .json (also .arrows, %s)", o.OutName, writtenNames, otherEnds)
	}
	if o.From == STEF {
		return refuse("standard output is stef, and so is the input: add --to %s", writtenNames)
	}
	o.To = STEF
	return nil
}

// notWritten returns an error for names of formats and compressions that this tool does not
// write. For CSV and TSV, the error begins with first, where %s stands for the name without its
// end.
func notWritten(name, first string) error {
	name = file.UnpackedName(name)
	for _, end := range []string{".feather", ".ipc"} {
		if base, ok := strings.CutSuffix(name, end); ok {
			return refuse("%s is not written: Arrow is written as a stream, not as a Feather file (IPC): end the name in .arrow, as in %s.arrow", end[1:], base)
		}
	}
	for _, end := range []string{".xz", ".bz2", ".lz4", ".zip"} {
		if base, ok := strings.CutSuffix(name, end); ok {
			return refuse("%s is not written: end the name in .zst or .gz, or write %s and compress it then", end[1:], base)
		}
	}
	for _, end := range []string{".csv", ".tsv"} {
		if base, ok := strings.CutSuffix(name, end); ok {
			return refuse("%s is not written: %s%s", end[1:], strings.ReplaceAll(first, "%s", base), viaParquet(base))
		}
	}
	return nil
}

// check refuses outputs that cannot be written or read, and options that would have no effect.
func (o *Options) check() error {
	if o.To == STEFParts {
		return errNotWritten
	}
	if o.To == Parquet && otlpfile.CompressionOf(o.OutName) != otlpfile.None {
		return refuse("a Parquet file is compressed inside and cannot be read under gzip or zstd: end the name in .parquet")
	}
	if len(o.Columns) > 0 && !o.To.table() {
		return refuse("--columns works only for an output of format parquet or arrow, and this is %s", o.To)
	}
	if o.To != STEF && len(o.StreamFlags) > 0 {
		way := ""
		if o.StreamFlags[0] == "--mode" {
			way = fmt.Sprintf("; for sorted items, convert to a .stef file with --mode sorted, and that file to %s", o.To)
		}
		return refuse("%s works only for an output of format stef, and this is %s%s", o.StreamFlags[0], o.To, way)
	}
	return nil
}

// Schema is the schema of a stream.
type Schema uint8

// The schemas.
const (
	// Compact is the full schema with the fields of the compact form, which hold times, values and
	// ids as differences from predictions (see package otelstef). It is the default.
	Compact Schema = iota
	// Full is the full schema without these fields.
	Full
	// Reference is the published schema, which the reference implementation reads.
	Reference
)
