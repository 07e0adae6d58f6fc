// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "regexp"

// needs are the ways in which a page can ask for something that is not in it.
// Links to other pages are none: they are followed by people.
var needs = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(src|srcset|poster|data|action)\s*=\s*["']?[^"'\s>]+`),
	regexp.MustCompile(`(?i)<link\b[^>]*`),
	regexp.MustCompile(`(?i)\burl\(\s*["']?[^#)][^)]*`),
	regexp.MustCompile(`(?i)@import[^;]*`),
	regexp.MustCompile(`(?i)xlink:href\s*=\s*["'][^#"'][^"']*`),
	regexp.MustCompile(`\b(fetch|XMLHttpRequest|WebSocket|EventSource|importScripts|sendBeacon)\s*\(`),
}

// Foreign returns what a page asks for beyond itself.
func Foreign(html string) []string {
	var found []string
	for _, need := range needs {
		found = append(found, need.FindAllString(html, -1)...)
	}
	return found
}
