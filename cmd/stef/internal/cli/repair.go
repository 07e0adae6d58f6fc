// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/stef-go/dynamic"
)

var repairCommand = &command{
	name:    "repair",
	usage:   "repair [FLAG]... IN OUT",
	summary: "copy the whole frames of a cut or damaged stream",
	help: `Copies the headers and the whole frames of a STEF stream, byte for byte, up to the
end or to the first frame that is cut or damaged, and prints what is lost. OUT is
then a stream that every reader reads to its end. Of an undamaged stream OUT is a
copy. A stream that exceeds a limit of this tool may be undamaged: repair fails, and
writes nothing, until --memory-mib or --depth allows it.

A program that is killed while it writes a stream leaves a last frame that is cut.
All records of the frames before it are there.

The exit code is 0 if every frame was copied, also if only the end of the compression
is missing, and 4 if OUT was written and a part of IN is lost. Without
checksums in the stream a changed byte may go unnoticed.

Of a file of messages, as the Collector's file exporter writes them with
encoding: stef_encoding, it keeps the whole messages in the same way.
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		o := &opener{repairs: true, onlySTEF: "repair is for STEF: if the file is cut, stef convert --skip IN OUT converts everything complete before the cut"}
		o.define(flags)
		force := flags.Bool("force", false, "overwrite OUT if it exists")
		return func(env *Env, args []string) error {
			if err := files(args, "IN", "OUT"); err != nil {
				return err
			}
			if err := notFolder(args[0]); err != nil {
				return err
			}
			if err := o.prepare(); err != nil {
				return err
			}
			return repair(env, o, args[0], args[1], *force)
		}
	},
}

func repair(env *Env, o *opener, inName, outName string, force bool) error {
	in, err := o.open(env, inName, convert.Options{})
	if err != nil {
		return headless(inName, err)
	}
	defer in.Close()
	if !force && outName != "-" && exists(outName) {
		return existsError(outName)
	}
	if !in.framed {
		if err := convert.CheckPlainStream(outName); err != nil {
			return err
		}
	}
	out, err := env.Temps.Create(outName, env.Stdout, force)
	if err != nil {
		return err
	}
	defer out.Discard()
	if in.framed {
		return repairMessages(env, in, out)
	}
	stop := env.progress(in.Input)
	whole, err := stream.Keep(out, in.src, in.root)
	stop()
	if err != nil {
		return in.explainError(err)
	}
	if whole.Damage != nil {
		var failed *file.Error
		if err := in.Blame(whole.Damage); errors.As(err, &failed) {
			return err
		}
	}
	if whole.OverLimit {
		return in.explainError(whole.Damage)
	}
	if in.assumed() && whole.Damage != nil && whole.Frames == 0 && !whole.Cut && !whole.NoFrame {
		return fmt.Errorf("%w; as no frame can be read, repair writes nothing", in.explainError(whole.Damage))
	}
	if whole.Damage != nil && whole.Lost == 0 && !whole.Unended && !whole.Broken {
		return in.explainError(fmt.Errorf("%w; the damage is in an earlier frame, but repair cannot tell in which one, so it writes nothing", whole.Damage))
	}
	if err := out.Commit(); err != nil {
		return err
	}
	if whole.Damage != nil && !whole.Unended { // lossOf describes a compressed file without an end
		fmt.Fprintln(env.Stderr, message(in.explainError(whole.Damage)))
	}
	fmt.Fprintln(env.Stderr, lossOf(in.Input, whole)+uncheckedFrames(whole))
	if whole.Cut && !whole.Unended && in.Packed == "zstd" && !in.Each { // a recorder that was killed between two frames leaves no block that zstd could return
		fmt.Fprintln(env.Stderr, unpackMore(in.Packed, in.Name))
	}
	if whole.Damage != nil && !(whole.Unended && in.WholeBlocks()) {
		return errLost
	}
	return nil
}

// errLost ends a command that did its work and printed what is lost.
var errLost = errors.New("a part of the input is lost")

// maxHeaders is larger than the headers of any real stream. If the headers of a longer file
// cannot be read, they are damaged, not cut.
const maxHeaders = 4 << 10

// headless adds an explanation to an error about the headers of a stream.
func headless(name string, err error) error {
	var at *dynamic.Error
	var bad *file.ContentError
	if !errors.As(err, &bad) || !errors.Is(err, io.ErrUnexpectedEOF) && !(errors.As(err, &at) && at.Frame == 0 && errors.Is(err, dynamic.ErrCorrupt)) {
		return err
	}
	const damaged = "the header is damaged: without it no frame can be read"
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w; %s", err, damaged)
	}
	if info, e := os.Stat(name); name != "-" && e == nil && info.Mode().IsRegular() {
		in, e := file.Open(name, nil)
		if e != nil {
			return err
		}
		defer in.Close()
		switch {
		case in.Packed != "" && !in.Each:
			return fmt.Errorf("%w; the file is cut; %s", err, unpackMore(in.Packed, name))
		case info.Size() > maxHeaders:
			return fmt.Errorf("%w; %s", err, damaged)
		}
	}
	return fmt.Errorf("%w; the file is cut before its first frame, so there is nothing to keep", err)
}

// unpackMore says how to read the last block of a cut file: the zstd command returns the
// bytes of an incomplete raw block, and this tool does not return them.
func unpackMore(packed, name string) string {
	return fmt.Sprintf("%s may return more of the file: %s -dc %s | stef repair - OUT", packed, packed, name)
}

const (
	noChecksums = "the stream has no checksums, so changed bytes may have gone unnoticed"
	unchecked   = "; every frame can be read; " + noChecksums
)

// uncheckedFrames returns the end of the message about a damaged stream without checksums: repair may
// have missed damage in the frames that it kept. It returns "" for other streams.
func uncheckedFrames(w *stream.Whole) string {
	if w.Damage == nil || w.Checksums || w.Frames == 0 { // without damage, lossOf says that checksums are missing
		return ""
	}
	return "; " + noChecksums
}

// withoutEnd describes a compressed file without an end. Its content ends after a whole frame or
// message.
func withoutEnd(in *file.Input) string {
	text := noEnd[in.WholeBlocks()]
	return fmt.Sprintf("; the compressed file %s: %s", text[0], text[1])
}

// lossOf describes which part of a stream is undamaged and which part is lost.
func lossOf(in *file.Input, w *stream.Whole) string {
	whole := fmt.Sprintf("%s: %s with %s in %s bytes", in.Name, figure.Count(w.Frames, "whole frame"), figure.Count(w.Records, "record"), figure.Grouped(w.Bytes))
	var trailing *file.TrailingError
	switch {
	case w.Damage == nil && !w.Checksums:
		return whole + unchecked
	case w.Damage == nil:
		return whole + "; nothing is lost"
	case w.Concatenated:
		return fmt.Sprintf("%s; not copied: the %s bytes after them", whole, figure.Grouped(w.Lost))
	case w.OverLimit:
		return fmt.Sprintf("%s; not read: the %s bytes after them", whole, figure.Grouped(w.Lost))
	case w.Broken && w.Lost == 0 && errors.As(w.Damage, &trailing):
		return fmt.Sprintf("%s; lost: %s after the end of the compressed data", whole, figure.Count(int(trailing.Bytes), "byte"))
	case w.Broken && w.Lost == 0:
		return whole + "; lost: what cannot be decompressed after them"
	case w.Broken:
		return fmt.Sprintf("%s; lost: the %s bytes after them, and what cannot be decompressed", whole, figure.Grouped(w.Lost))
	case w.NoFrame:
		return fmt.Sprintf("%s; lost: %s bytes after the last frame, which are not a frame", whole, figure.Grouped(w.Lost))
	case w.Unended:
		return whole + withoutEnd(in)
	case w.Cut:
		return fmt.Sprintf("%s; lost: the frame that was being written when the file was cut, %s bytes of it", whole, figure.Grouped(w.Lost))
	}
	return fmt.Sprintf("%s; lost: the %s bytes after them", whole, figure.Grouped(w.Lost))
}
