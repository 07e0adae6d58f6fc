// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

const page = "docs/architecture.md"

// named finds the functions in backticks: a folder, and Function or Type.Method in it.
var named = regexp.MustCompile("`((?:stef-|exporter/|receiver/)[A-Za-z0-9/_-]*)\\.([A-Za-z0-9.]+)`")

// checkPage returns an error if the section about a walk names no function, or names a
// function that did not run.
func checkPage(walk string, ran []*function) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	section, ok := sectionOf(string(text), walk)
	if !ok {
		return fmt.Errorf("%s has no section %q", page, walk)
	}
	total, gone := missing(section, ran)
	if total == 0 {
		return fmt.Errorf("%s, section %q names no function", page, walk)
	}
	if len(gone) > 0 {
		return fmt.Errorf("%s, section %q names %d functions, but these did not run: %s", page, walk, total, strings.Join(gone, ", "))
	}
	fmt.Printf("%6d of them are named in %s\n", total, page)
	return nil
}

// sectionOf returns the text below a heading, up to the next heading.
func sectionOf(text, heading string) (string, bool) {
	_, section, ok := strings.Cut(text, "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section, ok
}

// missing returns the number of functions that a text names, and the named functions that did
// not run. Coverage omits the type name of methods of generic types, so the method name alone
// matches, too.
func missing(text string, ran []*function) (total int, gone []string) {
	did := map[string]bool{}
	for _, f := range ran {
		did[f.folder+"."+strings.TrimPrefix(f.name, "*")] = true
	}
	seen := map[string]bool{}
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		name := m[1] + "." + m[2]
		if seen[name] {
			continue
		}
		seen[name] = true
		total++
		if !did[name] && !did[m[1]+"."+m[2][strings.LastIndexByte(m[2], '.')+1:]] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return total, gone
}
