// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package arch checks the rules of the repository as tests: the allowed
// imports, the length of files, the first lines of every file, that the
// generated code matches the schema, and that the compiler still inlines the
// leaf functions that run once per value.
//
// Every rule is a function from the files of the repository to the list of
// places that break it. Each rule is therefore tested twice: on the repository,
// where the list must be empty, and on a few lines that break the rule, where
// it must not be empty. The tables at the top of each file are the rules. To
// change a rule, change its table, in a commit that gives the reason.
package arch
