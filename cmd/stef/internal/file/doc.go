// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package file opens what a command reads and makes what it writes.
//
// An Input is a file or standard input, without the zstd or gzip it may lie
// under. An Output is a file that appears under its name only when it is
// complete, or standard output:
//
//	in, err := file.Open("-", os.Stdin)
//	out, err := temps.Create("x.stef", os.Stdout)
//	defer out.Discard()
//	... read in, write out ...
//	err = out.Commit()
//
// An Error is a failure of a file, as opposed to bad content: the two have exit
// codes of their own.
package file
