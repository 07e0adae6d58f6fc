// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package arch holds the rules of the house as tests: who may import whom, how
// long a file may be, what every file begins with, that the generated code is
// what the schema gives, and that the compiler still inlines the leaves that
// run once per value.
//
// Every rule is a function from the files of the repository to the list of
// places that break it, so a rule is tested twice: on the repository, where the
// list must be empty, and on a few lines that break it, where it must not be.
// The tables at the top of each file are the rules; to change one is to change
// the table, in a commit that says why.
package arch
