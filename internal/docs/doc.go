// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs tests the code blocks of every README and documentation page of
// the repository. It has no code to import.
//
// The language of a block says how it is tested:
//
//	go     a complete program: it is compiled and run
//	yaml   a Collector configuration or an entry of a builder manifest: the
//	       components of this repository load their part of it
//	stef   a schema: it is parsed
//	sh     see the marks
//
// A mark is an HTML comment in the line above the block:
//
//	<!-- docs: run -->            run the commands with bash; all blocks of a page
//	                              that run share a folder that has the recordings
//	                              of internal/fixtures and schema files before it;
//	                              $STEF is the root of the repository
//	<!-- docs: check, REASON -->  do not run the commands, for a reason such as
//	                              "takes minutes". Their make targets, packages,
//	                              programs and subcommands must exist
//	<!-- docs: file NAME -->      the text of a file that later blocks of the page
//	                              use
//	<!-- docs: output -->         the output of the block before, whole lines; a
//	                              line "..." stands for any lines
//	<!-- docs: elsewhere, TEST --> another test covers the block; TEST is a test
//	                              function of the repository
//
// A block that nothing covers fails the test, and so do commands in indented
// text. go test -v prints each block and how it is covered.
package docs
