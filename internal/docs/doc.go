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
//	<!-- docs: run -->            run the commands with bash, and end processes that
//	                              still run in the background; all such blocks of a
//	                              page share a folder with the recordings of
//	                              internal/fixtures, shop.stef, orders.stef and the
//	                              files of earlier blocks; $STEF is the root of the
//	                              repository, and $DIR is the shared folder
//	<!-- docs: run in the repository --> like run, but at the root of the repository;
//	                              each line begins there
//	<!-- docs: session -->        run the commands after "$ " and compare their
//	                              output with the lines below them; a duration
//	                              matches any other duration
//	<!-- docs: ci -->             .ci/run or a workflow runs these commands, with
//	                              the same variables or with more variables
//	<!-- docs: long, REASON -->   make docs-long runs the commands in a
//	                              clone of the repository; make docs checks that
//	                              their make targets, packages, programs and
//	                              subcommands exist
//	<!-- docs: check, REASON -->  nothing runs the commands, for a reason such as
//	                              "takes hours"; make docs checks their names as
//	                              in long blocks
//	<!-- docs: setup, COMMANDS --> run COMMANDS before the next block, such as a
//	                              server with "&" at the end. A block can have many
//	                              of these marks
//	<!-- docs: with, A becomes B --> replace A in the commands of the next block,
//	                              such as ten minutes by one minute
//	<!-- docs: file NAME -->      the text of a file that later blocks of the page
//	                              use
//	<!-- docs: output -->         the output of the previous block, in whole lines;
//	                              a line "..." stands for any lines
//	<!-- docs: elsewhere, TEST --> another test covers the block; TEST is a test
//	                              function of the repository
//
// The test fails if nothing covers a block, or if commands are in indented text.
// The runner replaces ports of localhost by free ports. go test -v prints each block
// and how it is covered.
package docs
