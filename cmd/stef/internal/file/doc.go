// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package file opens the input of a command and creates its output.
//
// An Input is a file or standard input, decompressed if it is compressed with zstd or
// gzip. An Output is standard output, or a file that appears under its name
// only when it is complete:
//
//	in, err := file.Open("-", os.Stdin)
//	out, err := temps.Create("x.stef", os.Stdout, false)
//	defer out.Discard()
//	... read in, write out ...
//	err = out.Commit()
//
// An Error is a failure of a file, as opposed to bad content: the two have
// different exit codes.
package file
